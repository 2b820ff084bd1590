//! Receives the files of a dataset on the hub, all of them before any is read.

use lyceum_core::fault::Fault;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use crate::api_error::ApiError;
use crate::contract::receive::{self, unwritten};
use crate::hub::{Address, Hub, LocateError};
use crate::lab::{BodyPace, LabSettings};

/// Bytes received between two looks at the clock.
const PIECE: usize = 64 << 10;

/// Files of the hub, in the order of their rows.
pub(crate) struct Fetched {
    pub(crate) files: Vec<File>,
    pub(crate) revision: String,
}

/// Why files are not received.
enum Unfetched {
    Hub(LocateError),
    /// The connection broke.
    Broken(io::Error),
    /// The disk does not take them.
    Unwritten(io::Error),
    TooLarge,
    TooSlow,
    /// The request has gone.
    Unwanted,
}

impl From<LocateError> for Unfetched {
    fn from(error: LocateError) -> Self {
        Self::Hub(error)
    }
}

/// Receives the files of `split` at `address`, of at most `limit` bytes together, at the pace of any body. Ends with the
/// request.
pub(crate) async fn fetch(
    address: &Address,
    split: Option<&str>,
    settings: &LabSettings,
    limit: usize,
) -> Result<Fetched, ApiError> {
    let hub = settings.hub.as_deref().map_or_else(Hub::from_env, Hub::at);
    let (address, split, pace) = (address.clone(), split.map(str::to_owned), settings.body_pace);
    let stop = CancellationToken::new();
    let _stopped_with_the_request = stop.clone().drop_guard();
    let receiving = move || receive(hub, address, split.as_deref(), pace, limit, &stop);
    let received = tokio::task::spawn_blocking(receiving).await;
    received.map_err(|error| ApiError::internal(&error))?.map_err(|error| error.explain(pace, limit))
}

impl Unfetched {
    fn explain(self, pace: BodyPace, limit: usize) -> ApiError {
        let rows = |detail: String| ApiError::invalid(vec![Fault::new("/rows", detail)]);
        match self {
            Self::Hub(error) => ApiError::invalid_query(vec![("hub".to_owned(), error.to_string())]),
            Self::Broken(error) => rows(format!("the file cannot be read: {error}")),
            Self::Unwritten(error) => unwritten(error),
            Self::TooLarge => ApiError::too_large(limit),
            Self::TooSlow => rows(format!(
                "the hub sends too slowly: after {} s at least {} bytes a second are expected; try again, or download the \
                 file yourself",
                pace.grace.as_secs(),
                pace.bytes_per_second
            )),
            Self::Unwanted => ApiError::internal(&"files were received that nobody waits for"),
        }
    }
}

fn receive(
    hub: Hub,
    address: Address,
    split: Option<&str>,
    pace: BodyPace,
    limit: usize,
    stop: &CancellationToken,
) -> Result<Fetched, Unfetched> {
    let (began, mut received) = (Instant::now(), 0);
    let mut piece = vec![0; PIECE];
    let located = hub.locate(address, split)?;
    let revision = located.revision.clone();
    let mut files = Vec::new();
    for download in located.into_files() {
        let mut download = download.map_err(Unfetched::Broken)?;
        let mut file = receive::spool().map_err(Unfetched::Unwritten)?;
        loop {
            let length = download.read(&mut piece).map_err(Unfetched::Broken)?;
            received += length;
            if stop.is_cancelled() {
                return Err(Unfetched::Unwanted);
            }
            if received > limit {
                return Err(Unfetched::TooLarge);
            }
            if length == 0 {
                break;
            }
            let earned = Duration::from_secs_f64(received as f64 / f64::from(pace.bytes_per_second.max(1)));
            if began.elapsed() > pace.grace + earned {
                return Err(Unfetched::TooSlow);
            }
            file.write_all(&piece[..length]).map_err(Unfetched::Unwritten)?;
        }
        file.rewind().map_err(Unfetched::Unwritten)?;
        files.push(file);
    }
    Ok(Fetched { files, revision })
}
