//! A stand-in for vLLM: a small server that speaks the part of its interface that workers use (read off vLLM 0.32), generates
//! for real, on the engine, and fails on demand.

mod asked;
mod fault;
mod generator;
mod state;

pub use fault::Fault;
pub use state::Seen;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use state::State;

/// A running server. It ends when dropped.
pub struct StandIn {
    address: SocketAddr,
    model: PathBuf,
    /// The folder in which it finds adapters by itself.
    resolver: Option<PathBuf>,
    state: Arc<State>,
    serving: Option<JoinHandle<()>>,
}

impl StandIn {
    /// Starts a server of the base model in a folder, under the folder's name.
    ///
    /// # Errors
    /// The model cannot be loaded.
    pub async fn start(model: &Path) -> Result<Self> {
        Self::start_with(model, None).await
    }

    /// The same, of a server that finds adapters in the folder `resolver` by itself.
    ///
    /// # Errors
    /// The model cannot be loaded.
    pub async fn start_with(model: &Path, resolver: Option<&Path>) -> Result<Self> {
        let mut server = Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            model: model.to_owned(),
            resolver: resolver.map(Path::to_owned),
            state: Arc::new(State::new(model, resolver)?),
            serving: None,
        };
        server.serve().await?;
        Ok(server)
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets the next requests to complete fail, one for each of `faults`.
    pub fn fail(&self, faults: &[Fault]) {
        self.state.fail(faults);
    }

    /// What it has been asked so far.
    pub fn seen(&self) -> Seen {
        self.state.seen()
    }

    /// Waits until it has seen something.
    pub async fn until(&self, what: impl Fn(&Seen) -> bool) {
        self.state.until(what).await;
    }

    /// Ends it as if it were killed: connections break, and adapters are forgotten.
    ///
    /// # Errors
    /// The model cannot be loaded again.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
        let seen = self.state.seen();
        self.state = Arc::new(State::new(&self.model, self.resolver.as_deref())?);
        self.state.remember(seen);
        Ok(())
    }

    /// Starts it again at the same address, after [`StandIn::kill`].
    ///
    /// # Errors
    /// Its port was taken meanwhile.
    pub async fn restart(&mut self) -> Result<()> {
        self.serve().await
    }

    async fn serve(&mut self) -> Result<()> {
        if let Some(before) = self.serving.take() {
            // Aborted, and gone once it is awaited: it has the port until then.
            let _ = before.await;
        }
        let listener = TcpListener::bind(self.address).await?;
        self.address = listener.local_addr()?;
        let state = Arc::clone(&self.state);
        let serving = tokio::spawn(async move {
            // Dropped with this task, and every connection with it.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&state);
                connections.spawn(async move {
                    let service = service_fn(move |request| asked::answer(Arc::clone(&state), request));
                    let connection = Builder::new(TokioExecutor::new());
                    // A client that breaks off is expected here.
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        self.serving = Some(serving);
        Ok(())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.abort();
        }
    }
}
