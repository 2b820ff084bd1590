//! Files of the Hugging Face hub over HTTP. `HF_ENDPOINT` and `HF_TOKEN` are used as in huggingface_hub.

use std::io::{self, Read};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use ureq::http::{Response, Uri};
use ureq::{Agent, Body, BodyReader};

/// Redirects followed for one file: to a renamed repository, and to the store that has the bytes.
const REDIRECTS: usize = 5;
/// Maximum bytes of a repository's list of files.
const LONGEST_LIST: u64 = 64 << 20;

/// A hub.
#[derive(Clone)]
pub struct HubClient {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

/// Why something cannot be read from the hub.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The hub does not have it.
    #[error("{0}")]
    NotFound(String),
    /// The hub does not give it to everyone.
    #[error(
        "{what} is gated or private, or does not exist: accept its terms on the hub, and set HF_TOKEN to a token that may \
         read it{hint}"
    )]
    NotAllowed {
        /// The file or repository.
        what: String,
        /// What is known of the token.
        hint: &'static str,
    },
    /// The hub has answered too many requests.
    #[error("{url}: the hub limits how often it is asked (status 429); wait {wait}{hint}")]
    TooMany {
        /// The address.
        url: String,
        /// How long to wait.
        wait: String,
        /// What else helps.
        hint: &'static str,
    },
    /// Another status.
    #[error("{url} answers {status}; try again, or download the file yourself")]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The hub cannot be reached, or what it sends cannot be read.
    #[error("cannot read {url}: {detail}; try again, or download the file yourself")]
    Unreadable {
        /// The address.
        url: String,
        /// What happened.
        detail: String,
    },
}

/// What the hub's API says of a repository.
#[derive(Deserialize)]
pub struct Listing {
    /// The commit.
    pub sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Listing {
    /// The paths of its files.
    pub fn into_files(self) -> impl Iterator<Item = String> {
        self.siblings.into_iter().map(|sibling| sibling.rfilename)
    }
}

/// The bytes of a file on their way.
pub struct Download {
    body: BodyReader<'static>,
    /// Bytes to come, if the hub said so.
    left: Option<u64>,
    /// The place of the first byte in the file: not 0 only if the hub agreed to send the rest of it.
    pub start: u64,
    /// Bytes of the whole file, if the hub said so.
    pub length: Option<u64>,
    /// The commit that the file is from.
    pub commit: Option<String>,
    /// The hub's name for the content; of large files their SHA-256.
    pub etag: Option<String>,
    url: String,
}

impl HubClient {
    /// The hub of the environment.
    pub fn from_env() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        Self::new(&endpoint, set("HF_TOKEN"))
    }

    /// The hub at `endpoint`, with the token of the environment.
    #[must_use]
    pub fn at(endpoint: &str) -> Self {
        Self::new(endpoint, Self::from_env().token)
    }

    pub(super) fn new(endpoint: &str, token: Option<String>) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .accept_encoding("identity")
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)));
        Self { agent: config.build().into(), endpoint: endpoint.trim_end_matches('/').to_owned(), token }
    }

    /// The same hub with `token` if the environment has none.
    pub(super) fn or_token(self, token: Option<String>) -> Self {
        Self { token: self.token.or(token), ..self }
    }

    /// Its address.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The files of the repository at `path` of the hub's API, such as `models/OWNER/NAME/revision/main`; messages call it
    /// `what`.
    ///
    /// # Errors
    /// There is none, it is not for everyone, or the hub cannot be reached.
    pub fn list(&self, path: &str, what: &str) -> Result<Listing, HubError> {
        let url = format!("{}/api/{path}", self.endpoint);
        let answer = self.get(&url, what, 0)?;
        read_json(answer.response).map_err(|detail| HubError::Unreadable { url, detail })
    }

    /// The file at `path`, such as `OWNER/NAME/resolve/main/config.json`, from byte `start` on if the hub sends parts;
    /// messages call it `what`.
    ///
    /// # Errors
    /// There is none, it is not for everyone, or the hub cannot be reached.
    pub fn open(&self, path: &str, what: &str, start: u64) -> Result<Download, HubError> {
        let url = format!("{}/{path}", self.endpoint);
        let Answer { response, commit, etag } = self.get(&url, what, start)?;
        let left = header(&response, "content-length").and_then(|length| length.parse().ok());
        let left: Option<u64> = left.filter(|_| !response.headers().contains_key("content-encoding"));
        let start = match header(&response, "content-range") {
            Some(range) if response.status() == 206 => first_byte(&range)
                .ok_or_else(|| HubError::Unreadable { url: url.clone(), detail: format!("the range is `{range}`") })?,
            _ => 0,
        };
        let length = left.map(|left| start + left);
        Ok(Download { body: response.into_body().into_reader(), left, start, length, commit, etag, url })
    }

    /// GET, with redirects. Commit and ETag are in the answer of the hub, not in that of the store it redirects to.
    fn get(&self, url: &str, what: &str, start: u64) -> Result<Answer, HubError> {
        let unreadable = |detail: String| HubError::Unreadable { url: url.to_owned(), detail };
        let (mut commit, mut etag) = (None, None);
        let mut at = url.to_owned();
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(&at);
            if start > 0 {
                request = request.header("range", format!("bytes={start}-"));
            }
            // The token is only for the hub.
            if let Some(token) = self.token.as_ref().filter(|_| same_host(&at, &self.endpoint)) {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let response = request.call().map_err(|error| unreadable(error.to_string()))?;
            commit = commit.or_else(|| header(&response, "x-repo-commit"));
            etag = etag.or_else(|| header(&response, "x-linked-etag"));
            let status = response.status().as_u16();
            let code = header(&response, "x-error-code").unwrap_or_default();
            return match (status, code.as_str()) {
                (200 | 206, _) => {
                    let etag = etag.or_else(|| header(&response, "etag"));
                    Ok(Answer { response, commit, etag })
                }
                (301..=303 | 307 | 308, _) => {
                    let next = header(&response, "location").and_then(|next| joined(&at, &next));
                    at = next.ok_or_else(|| unreadable("it redirects to nowhere".to_owned()))?;
                    continue;
                }
                (404, "RevisionNotFound") => Err(HubError::NotFound(format!("{what}: there is no such revision"))),
                (401 | 403, _) => Err(HubError::NotAllowed {
                    what: what.to_owned(),
                    hint: match self.token {
                        Some(_) => " (the one that is set may not)",
                        None => "",
                    },
                }),
                (404, _) => Err(HubError::NotFound(format!("the hub has no {what}"))),
                (429, _) => Err(HubError::TooMany {
                    url: url.to_owned(),
                    wait: match header(&response, "retry-after").and_then(|after| after.parse::<u32>().ok()) {
                        Some(seconds) => format!("{seconds} s"),
                        None => "some minutes".to_owned(),
                    },
                    hint: match self.token {
                        Some(_) => "",
                        None => ", or set HF_TOKEN, with which more is allowed",
                    },
                }),
                _ => Err(HubError::Status { url: url.to_owned(), status }),
            };
        }
        Err(unreadable(format!("it redirects more than {REDIRECTS} times")))
    }
}

struct Answer {
    response: Response<Body>,
    commit: Option<String>,
    etag: Option<String>,
}

impl Read for Download {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let broken = |detail: String| {
            let detail = format!("{} broke off: {detail}", self.url);
            io::Error::new(io::ErrorKind::UnexpectedEof, detail)
        };
        let read = self.body.read(out).map_err(|error| broken(error.to_string()))?;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(read as u64);
            if read == 0 && *left > 0 && !out.is_empty() {
                return Err(broken(format!("{left} bytes are missing")));
            }
        }
        Ok(read)
    }
}

fn read_json<T: DeserializeOwned>(mut response: Response<Body>) -> Result<T, String> {
    let body = response.body_mut().with_config().limit(LONGEST_LIST);
    body.read_json().map_err(|error| error.to_string())
}

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The first byte of a `Content-Range` such as `bytes 10-19/20`.
fn first_byte(range: &str) -> Option<u64> {
    range.trim().strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn same_host(url: &str, other: &str) -> bool {
    let host = |url: &str| {
        let uri: Uri = url.parse().ok()?;
        Some((uri.scheme_str()?.to_owned(), uri.authority()?.as_str().to_owned()))
    };
    host(url).is_some() && host(url) == host(other)
}

/// `location` as an address, seen from `base`.
fn joined(base: &str, location: &str) -> Option<String> {
    let uri: Uri = location.parse().ok()?;
    if uri.scheme().is_some() {
        return matches!(uri.scheme_str(), Some("http" | "https")).then(|| location.to_owned());
    }
    let base: Uri = base.parse().ok()?;
    let path = location.strip_prefix('/')?;
    Some(format!("{}://{}/{path}", base.scheme_str()?, base.authority()?))
}
