//! Artifacts through a server, for workers without access to their folder.

use lyceum_core::artifact::{ArtifactKind, Digest};
use std::{fmt, io::Read as _, sync::Arc};
use ureq::Agent;

/// Maximum size of an artifact, in bytes: well above an adapter of a 70B model with its optimizer state.
const LIMIT: u64 = 16 << 30;

/// A server that reads and writes artifacts for its workers.
#[derive(Clone)]
pub struct RemoteArtifacts {
    agent: Agent,
    server: String,
    token: Arc<str>,
}

/// Errors of the server with the artifacts.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The server cannot be reached.
    #[error("cannot reach {server}: {source}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        source: Box<ureq::Error>,
    },
    /// The server refused the request.
    #[error("{server} answers {status}: {detail}")]
    Refused {
        /// The server.
        server: String,
        /// The HTTP status.
        status: u16,
        /// Its message.
        detail: String,
    },
    /// The connection was lost.
    #[error("the answer of {server} broke off: {source}")]
    BrokeOff {
        /// The server.
        server: String,
        /// Why.
        source: std::io::Error,
    },
}

impl fmt::Debug for RemoteArtifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteArtifacts")
            .field("server", &self.server)
            .field("token", &"…")
            .finish_non_exhaustive()
    }
}

impl RemoteArtifacts {
    /// The artifacts of the server at `server`, such as `http://10.0.0.1:8080`, with a token of scope `write`.
    pub fn new(server: &str, token: &str) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self {
            agent,
            server: server.trim_end_matches('/').to_owned(),
            token: token.into(),
        }
    }

    /// Sends `bytes`. Blocks.
    pub(super) fn put(&self, kind: ArtifactKind, digest: Digest, bytes: &[u8]) -> Result<(), RemoteError> {
        let answer = self
            .agent
            .put(format!("{}?kind={}", self.place(digest), kind.name()))
            .header("Authorization", format!("Bearer {}", self.token))
            .content_type("application/octet-stream")
            .send(bytes);
        self.read(answer).map(|_| ())
    }

    /// The bytes of `digest`; `None` if the server does not have them. Blocks.
    pub(super) fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, RemoteError> {
        let asked = self
            .agent
            .get(self.place(digest))
            .header("Authorization", format!("Bearer {}", self.token))
            .call();
        match self.read(asked) {
            Err(RemoteError::Refused { status: 404, .. }) => Ok(None),
            read => read.map(Some),
        }
    }

    fn place(&self, digest: Digest) -> String {
        format!("{}/api/v1/artifacts/{digest}", self.server)
    }

    fn read(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Vec<u8>, RemoteError> {
        let server = || self.server.clone();
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
