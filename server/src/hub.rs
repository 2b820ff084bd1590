//! Files of datasets on the Hugging Face hub. `HF_ENDPOINT` and `HF_TOKEN` are used as in huggingface_hub.

mod address;
mod choice;

use std::collections::VecDeque;
use std::io::{self, Read};
use std::time::Duration;

use serde::Deserialize;
use ureq::http::{Response, Uri};
use ureq::{Agent, Body, BodyReader};

pub(crate) use address::{Address, NotAnAddress};
use choice::Unclear;

/// Redirects followed for one file: to a renamed repository, and to the store that has the bytes.
const REDIRECTS: usize = 5;
/// Maximum bytes of a repository's list of files.
const LONGEST_LIST: u64 = 64 << 20;

#[derive(Clone)]
pub(crate) struct Hub {
    agent: Agent,
    endpoint: String,
    token: Option<String>,
}

/// Why rows cannot be read from the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HubError {
    /// The hub does not have it.
    #[error("{0}")]
    NotFound(String),
    /// The hub does not give it to everyone.
    #[error(
        "{what} is gated or private, or does not exist: accept its terms on the hub, and set HF_TOKEN to a token that may \
         read it{hint}"
    )]
    NotAllowed { what: String, hint: &'static str },
    /// The name does not say which files.
    #[error(transparent)]
    Unclear(#[from] Unclear),
    /// Another status.
    #[error("{url} answers {status}; try again, or download the file yourself")]
    Status { url: String, status: u16 },
    /// The hub cannot be reached, or says what it should not.
    #[error("cannot read {url}: {detail}; try again, or download the file yourself")]
    Unreadable { url: String, detail: String },
}

/// The files of one split, in order, the first of which is open.
pub(crate) struct Located {
    hub: Hub,
    address: Address,
    /// The commit of all files.
    pub(crate) revision: String,
    first: Option<Download>,
    files: VecDeque<String>,
}

/// The bytes of a file on their way.
pub(crate) struct Download {
    body: BodyReader<'static>,
    /// Bytes to come, if the hub said so.
    left: Option<u64>,
    /// All bytes, if the hub said so.
    pub(crate) length: Option<u64>,
    commit: Option<String>,
    url: String,
}

/// What the hub's API says of a repository.
#[derive(Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
}

impl Hub {
    /// The hub of the environment.
    pub(crate) fn from_env() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        Self::new(&endpoint, set("HF_TOKEN"))
    }

    /// The hub at `endpoint`, with the token of the environment.
    pub(crate) fn at(endpoint: &str) -> Self {
        Self::new(endpoint, Self::from_env().token)
    }

    fn new(endpoint: &str, token: Option<String>) -> Self {
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

    /// Finds the files of `address`: one file, or those of a repository or folder and `split`.
    ///
    /// # Errors
    /// There is no such file, it is not for everyone, the name could mean several, or the hub cannot be reached.
    pub(crate) fn locate(self, address: Address, split: Option<&str>) -> Result<Located, HubError> {
        let (revision, mut files) = match address.file() {
            Some(file) => (address.revision.clone(), VecDeque::from([file.to_owned()])),
            None => {
                let listing = self.list(&address)?;
                let names = listing.siblings.into_iter().map(|sibling| sibling.rfilename);
                (listing.sha, choice::choose(&address, names, split)?.into())
            }
        };
        let first = match files.pop_front() {
            Some(file) => Some(self.open(&address, &revision, &file)?),
            None => None,
        };
        let commit = first.as_ref().and_then(|file| file.commit.clone());
        Ok(Located { revision: commit.unwrap_or(revision), hub: self, address, first, files })
    }

    fn list(&self, address: &Address) -> Result<Listing, HubError> {
        let url = format!("{}/api/datasets/{}", self.endpoint, address.listed());
        let (mut response, _) = self.get(&url, &address.to_string())?;
        let list = response.body_mut().with_config().limit(LONGEST_LIST).read_json();
        list.map_err(|error| HubError::Unreadable { url, detail: error.to_string() })
    }

    fn open(&self, address: &Address, revision: &str, file: &str) -> Result<Download, HubError> {
        let url = format!("{}/datasets/{}", self.endpoint, address.resolved(revision, file));
        let what = format!("{file} of {}", address.repository());
        let (response, commit) = match self.get(&url, &what) {
            Err(HubError::NotFound(detail)) => return Err(HubError::NotFound(self.with_files(address, detail))),
            other => other?,
        };
        let length = header(&response, "content-length").and_then(|length| length.parse().ok());
        let is_encoded = response.headers().contains_key("content-encoding");
        let length = length.filter(|_| !is_encoded);
        Ok(Download { body: response.into_body().into_reader(), left: length, length, commit, url })
    }

    /// The message with the files that there are, if the hub lists them.
    fn with_files(&self, address: &Address, detail: String) -> String {
        let Ok(listing) = self.list(address) else { return detail };
        let names = listing.siblings.into_iter().map(|sibling| sibling.rfilename);
        match choice::data_files(names).as_slice() {
            [] => detail,
            files => format!("{detail}; there are {}", choice::named(files)),
        }
    }

    /// GET, with redirects. The commit is in the answer of the hub, not in that of the store it redirects to.
    fn get(&self, url: &str, what: &str) -> Result<(Response<Body>, Option<String>), HubError> {
        let unreadable = |detail: String| HubError::Unreadable { url: url.to_owned(), detail };
        let mut commit = None;
        let mut at = url.to_owned();
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(&at);
            // The token is for the hub alone.
            if let Some(token) = self.token.as_ref().filter(|_| same_host(&at, &self.endpoint)) {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            let response = request.call().map_err(|error| unreadable(error.to_string()))?;
            commit = commit.or_else(|| header(&response, "x-repo-commit"));
            let status = response.status().as_u16();
            let code = header(&response, "x-error-code").unwrap_or_default();
            return match (status, code.as_str()) {
                (200, _) => Ok((response, commit)),
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
                _ => Err(HubError::Status { url: url.to_owned(), status }),
            };
        }
        Err(unreadable(format!("it redirects more than {REDIRECTS} times")))
    }
}

impl Located {
    /// Each file in turn.
    pub(crate) fn into_files(self) -> impl Iterator<Item = io::Result<Download>> + Send {
        let Self { hub, address, revision, first, files } = self;
        let others = files.into_iter().map(move |file| hub.open(&address, &revision, &file).map_err(io::Error::other));
        first.into_iter().map(Ok).chain(others)
    }
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

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
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
