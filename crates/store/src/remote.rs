//! A server's REST API, for machines without access to its database and artifacts.

use std::{fmt, io::Read as _, sync::Arc};
use ureq::Agent;

use crate::{Result, StoreError};

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

    fn read(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Vec<u8>, RemoteError> {
        let server = || self.server.to_string();
        let mut answer = answer.map_err(|source| RemoteError::Unreachable {
            server: server(),
            source: Box::new(source),
        })?;
        let mut bytes = Vec::new();
        answer
            .body_mut()
            .with_config()
            .limit(LIMIT)
            .reader()
            .read_to_end(&mut bytes)
            .map_err(|source| RemoteError::BrokeOff {
                server: server(),
                source,
            })?;
        if answer.status().is_success() {
            return Ok(bytes);
        }
        let detail = String::from_utf8_lossy(&bytes).chars().take(500).collect();
        Err(RemoteError::Refused {
            server: server(),
            status: answer.status().as_u16(),
            detail,
        })
    }
}
