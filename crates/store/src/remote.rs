//! A server's REST API, for machines without access to its database and artifacts.

use lyceum_core::artifact::Digest;
use std::{fmt, fs::File, io::Read as _, sync::Arc};
use ureq::{Agent, Body, http::Response};

use crate::{Result, StoreError, artifact::copy};

/// The longest response accepted, in bytes: well over an adapter of a 70B model with its optimizer state.
const LIMIT: u64 = 16 << 30;

/// A server and a token for it.
#[derive(Clone)]
pub struct Remote {
    agent: Agent,
    server: Arc<str>,
    token: Arc<str>,
}

/// Why a request to a server failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// It cannot be reached.
    #[error("cannot reach {server}: {source}")]
    Unreachable {
        /// The server.
        server: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// It refused the request.
    #[error("{server} answers {status}: {detail}")]
    Refused {
        /// The server.
        server: String,
        /// The HTTP status.
        status: u16,
        /// Its explanation.
        detail: String,
    },
    /// The connection broke off.
    #[error("the answer of {server} broke off: {source}")]
    BrokeOff {
        /// The server.
        server: String,
        /// The cause.
        source: std::io::Error,
    },
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("server", &self.server)
            .field("token", &"…")
            .finish_non_exhaustive()
    }
}

impl Remote {
    /// The server at `server`, such as `http://10.0.0.1:8080`. Reading needs a token of scope `read`, writing one of scope
    /// `write`.
    pub fn new(server: &str, token: &str) -> Self {
        Self {
            agent: Agent::config_builder().http_status_as_error(false).build().into(),
            server: server.trim_end_matches('/').into(),
            token: token.into(),
        }
    }

    /// The body at `path`, such as `/api/v1/artifacts/0a…`; `None` if there is nothing (404).
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub async fn get(&self, path: String) -> Result<Option<Vec<u8>>> {
        let answer = self.blocking(move |remote| {
            let request = remote.agent.get(remote.url(&path));
            remote.read(request.header("Authorization", remote.bearer()).call())
        });
        match answer.await? {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(None),
            read => Ok(Some(read?)),
        }
    }

    /// Writes `bytes` to `path`.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub(crate) async fn put(&self, path: String, bytes: Vec<u8>) -> Result<()> {
        let answer = self.blocking(move |remote| {
            let request = remote.agent.put(remote.url(&path));
            let request = request.header("Authorization", remote.bearer());
            remote.read(request.content_type("application/octet-stream").send(&bytes[..]))
        });
        Ok(answer.await?.map(drop)?)
    }

    /// Appends the body at `path` to `file`, a piece at a time; returns its digest and the number of bytes, or `None` if there
    /// is nothing (404).
    ///
    /// # Errors
    /// As [`Remote::get`]; or the file cannot be written.
    pub(crate) async fn get_file(&self, path: String, mut file: File) -> Result<Option<(Digest, u64)>> {
        let answer = self.blocking(move |remote| {
            let request = remote.agent.get(remote.url(&path));
            let mut answer = remote.answer(request.header("Authorization", remote.bearer()).call())?;
            let mut body = answer.body_mut().with_config().limit(LIMIT).reader();
            copy(&mut body, &mut file).map_err(|source| remote.broke_off(source))
        });
        match answer.await? {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(None),
            received => Ok(Some(received?)),
        }
    }

    /// Writes the `bytes` bytes of `file` to `path`, a piece at a time.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub(crate) async fn put_file(&self, path: String, file: File, bytes: u64) -> Result<()> {
        let answer = self.blocking(move |remote| {
            let request = remote.agent.put(remote.url(&path));
            let request = request.header("Authorization", remote.bearer());
            let request = request.header("Content-Length", bytes.to_string());
            let request = request.content_type("application/octet-stream");
            remote.read(request.send(ureq::SendBody::from_owned_reader(file.take(bytes))))
        });
        Ok(answer.await?.map(drop)?)
    }

    async fn blocking<T: Send + 'static>(&self, ask: impl FnOnce(Self) -> T + Send + 'static) -> Result<T> {
        let remote = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(remote)).await;
        asked.map_err(|lost| StoreError::Remote(lost.to_string()))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    fn read(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Vec<u8>, RemoteError> {
        self.bytes(&mut self.answer(answer)?)
    }

    /// The answer, unless the server refuses.
    fn answer(&self, answer: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, RemoteError> {
        let mut answer = answer.map_err(|source| RemoteError::Unreachable {
            server: self.server.to_string(),
            source: Box::new(source),
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let bytes = self.bytes(&mut answer)?;
        let detail = String::from_utf8_lossy(&bytes).chars().take(500).collect();
        Err(RemoteError::Refused {
            server: self.server.to_string(),
            status: answer.status().as_u16(),
            detail,
        })
    }

    fn bytes(&self, answer: &mut Response<Body>) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        let mut body = answer.body_mut().with_config().limit(LIMIT).reader();
        body.read_to_end(&mut bytes).map_err(|source| self.broke_off(source))?;
        Ok(bytes)
    }

    fn broke_off(&self, source: std::io::Error) -> RemoteError {
        RemoteError::BrokeOff {
            server: self.server.to_string(),
            source,
        }
    }
}
