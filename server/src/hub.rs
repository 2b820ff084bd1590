//! Files of datasets on the Hugging Face hub.

mod address;
mod choice;

use std::collections::VecDeque;
use std::io;

use lyceum_models::hub::{Download, HubClient, HubError, Listing};

pub(crate) use address::{Address, NotAnAddress};
use choice::Unclear;

/// A hub that datasets are read from.
#[derive(Clone)]
pub(crate) struct Hub(HubClient);

/// Why rows cannot be read from the hub.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LocateError {
    /// The hub does not give them.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The name does not say which files.
    #[error(transparent)]
    Unclear(#[from] Unclear),
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

impl Hub {
    /// The hub of the environment.
    pub(crate) fn from_env() -> Self {
        Self(HubClient::from_env())
    }

    /// The hub at `endpoint`, with the token of the environment.
    pub(crate) fn at(endpoint: &str) -> Self {
        Self(HubClient::at(endpoint))
    }

    /// Finds the files of `address`: one file, or those of a repository or folder and `split`.
    ///
    /// # Errors
    /// There is no such file, it is not for everyone, the name could mean several, or the hub cannot be reached.
    pub(crate) fn locate(self, address: Address, split: Option<&str>) -> Result<Located, LocateError> {
        let (revision, mut files) = match address.file() {
            Some(file) => (address.revision.clone(), VecDeque::from([file.to_owned()])),
            None => {
                let listing = self.list(&address)?;
                (listing.sha.clone(), choice::choose(&address, listing.into_files(), split)?.into())
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
        self.0.list(&format!("datasets/{}", address.listed()), &address.to_string())
    }

    fn open(&self, address: &Address, revision: &str, file: &str) -> Result<Download, HubError> {
        let path = format!("datasets/{}", address.resolved(revision, file));
        match self.0.open(&path, &format!("{file} of {}", address.repository()), 0) {
            Err(HubError::NotFound(detail)) => Err(HubError::NotFound(self.with_files(address, detail))),
            other => other,
        }
    }

    /// The message with the files that there are, if the hub lists them.
    fn with_files(&self, address: &Address, detail: String) -> String {
        let Ok(listing) = self.list(address) else { return detail };
        match choice::data_files(listing.into_files()).as_slice() {
            [] => detail,
            files => format!("{detail}; there are {}", choice::named(files)),
        }
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
