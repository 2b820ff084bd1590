//! A server's REST API, for machines without access to its database and artifacts.

use bytes::Bytes;
use lyceum_core::artifact::Digest;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use ureq::http::Response;
use ureq::http::header::RETRY_AFTER;
use ureq::{Agent, Body};

use crate::artifact::copy;
use crate::{Result, StoreError};

/// The longest response accepted, in bytes: well over an adapter of a 70B model with its optimizer state.
const LIMIT: u64 = 16 << 30;

/// How long a server may take.
#[derive(Clone, Copy)]
struct Limits {
    /// Until its name is known, and then until it is connected.
    connect: Duration,
    /// Until it has taken the next bytes that are sent.
    write: Duration,
    /// Until its next bytes come. It says nothing while it reads an artifact to its end or passes one on to a bucket.
    read: Duration,
}

/// The largest artifact that a server takes, 4 GiB, passes to or from a bucket within the last of these at 5 MB/s.
const LIMITS: Limits =
    Limits { connect: Duration::from_secs(10), write: Duration::from_secs(120), read: Duration::from_secs(900) };

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
        server: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// It refused the request.
    #[error("{server} answers {status}: {detail}")]
    Refused {
        server: String,
        /// The HTTP status.
        status: u16,
        /// Its explanation.
        detail: String,
        /// When to try again, if it says so.
        retry_after: Option<Duration>,
    },
    /// The connection broke off.
    #[error("the answer of {server} broke off: {source}")]
    BrokeOff {
        server: String,
        /// The cause.
        source: io::Error,
    },
    /// The request's thread ended without an answer.
    #[error("{0}")]
    Lost(String),
}

impl RemoteError {
    /// Whether the same request may succeed in a while: the server was restarted, or is busy.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => !matches!(**source, ureq::Error::BadUri(_) | ureq::Error::Http(_)),
            Self::Refused { status, .. } => matches!(status, 408 | 425 | 429 | 502..=504),
            Self::BrokeOff { .. } | Self::Lost(_) => true,
        }
    }

    /// Whether a disk is full, the server's or this machine's.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Refused { status, .. } => *status == 507,
            Self::BrokeOff { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            Self::Unreachable { .. } | Self::Lost(_) => false,
        }
    }

    /// When the server wants to be asked again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("server", &self.server).field("token", &"…").finish_non_exhaustive()
    }
}

impl Remote {
    /// The server at `server`, such as `http://10.0.0.1:8080`. Reading needs a token of scope `read`, writing one of scope
    /// `write`.
    pub fn new(server: &str, token: &str) -> Self {
        Self::within(LIMITS, server, token)
    }

    fn within(limits: Limits, server: &str, token: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_per_write(Some(limits.write))
            .timeout_per_read(Some(limits.read))
            .timeout_recv_response(Some(limits.read));
        Self { agent: config.build().into(), server: server.trim_end_matches('/').into(), token: token.into() }
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
    pub(crate) async fn put(&self, path: String, bytes: Bytes) -> Result<()> {
        let answer = self.blocking(move |remote| {
            let request = remote.agent.put(remote.url(&path)).header("Authorization", remote.bearer());
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
            let request = remote.agent.put(remote.url(&path)).header("Authorization", remote.bearer());
            let request = request.header("Content-Length", bytes.to_string()).content_type("application/octet-stream");
            remote.read(request.send(ureq::SendBody::from_owned_reader(file.take(bytes))))
        });
        Ok(answer.await?.map(drop)?)
    }

    async fn blocking<T: Send + 'static>(&self, ask: impl FnOnce(Self) -> T + Send + 'static) -> Result<T> {
        let remote = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(remote)).await;
        asked.map_err(|lost| StoreError::from(RemoteError::Lost(lost.to_string())))
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
        let mut answer = answer
            .map_err(|source| RemoteError::Unreachable { server: self.server.to_string(), source: Box::new(source) })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let bytes = self.bytes(&mut answer)?;
        let detail = String::from_utf8_lossy(&bytes).chars().take(500).collect();
        let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        Err(RemoteError::Refused {
            server: self.server.to_string(),
            status: answer.status().as_u16(),
            detail,
            retry_after: retry_after.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
        })
    }

    fn bytes(&self, answer: &mut Response<Body>) -> Result<Vec<u8>, RemoteError> {
        let mut bytes = Vec::new();
        let mut body = answer.body_mut().with_config().limit(LIMIT).reader();
        body.read_to_end(&mut bytes).map_err(|source| self.broke_off(source))?;
        Ok(bytes)
    }

    fn broke_off(&self, source: io::Error) -> RemoteError {
        RemoteError::BrokeOff { server: self.server.to_string(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    #[tokio::test]
    async fn a_server_that_never_answers_is_given_up() {
        // The system connects, and nobody reads.
        let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let limits = Limits { read: Duration::from_millis(20), write: Duration::from_millis(20), ..LIMITS };
        let remote = Remote::within(limits, &address, "token");
        let unanswered = remote.get("/api/v1/artifacts/0a".to_owned()).await.unwrap_err();
        assert!(unanswered.passes(), "{unanswered}");
        // More than the system keeps for it.
        let large = Bytes::from(vec![0; 64 << 20]);
        let untaken = remote.put("/api/v1/artifacts/0a".to_owned(), large).await.unwrap_err();
        assert!(untaken.passes(), "{untaken}");
    }

    #[test]
    fn what_a_restart_or_a_queue_explains_passes_and_a_refusal_does_not() {
        let refused = |status| RemoteError::Refused {
            server: "lab".to_owned(),
            status,
            detail: String::new(),
            retry_after: None,
        };
        let passes = [400, 401, 403, 413, 422, 429, 500, 502, 503, 504, 507].map(|status| refused(status).passes());
        let [denied, busy] = [false, true];
        assert_eq!(passes, [denied, denied, denied, denied, denied, busy, denied, busy, busy, busy, denied]);
        assert!(refused(507).is_full() && !refused(503).is_full());
    }
}
