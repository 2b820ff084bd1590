//! Receiving bodies: in time, large ones a few at once, and those of any size into files.

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::web::Bytes;
use futures::StreamExt as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use super::document::check_length;
use crate::api_error::ApiError;
use crate::lab::{BodyPace, Lab};

/// The place of a large body.
#[derive(Debug)]
pub(crate) struct Place {
    _of_token: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Place {
    /// Waits for a place.
    ///
    /// # Errors
    /// 503 if none is free in time, or if the caller's token holds half of them.
    pub(crate) async fn wait(lab: &Lab, caller: &Caller) -> Result<Self, ApiError> {
        let pool = lab.places.of(caller.token.scope);
        let until = Instant::now() + lab.settings.patience;
        let full = |count: usize, whose: &str| {
            ApiError::unavailable(format!("{count} large bodies are being received{whose}, the maximum; try again"))
        };
        let own = timeout_at(until, pool.of_token(caller.token.id).acquire_owned()).await;
        let own = own.map_err(|_| full(pool.share(), " with this token"))?;
        let all = timeout_at(until, pool.all.clone().acquire_owned()).await.map_err(|_| full(pool.size, ""))?;
        let [own, all] = [own, all].map(|permit| permit.map_err(|error| ApiError::internal(&error)));
        Ok(Self { _of_token: own?, _of_all: all? })
    }
}

/// The pieces of a body of at most `limit` bytes.
pub(crate) struct Pieces {
    payload: Payload,
    pace: BodyPace,
    limit: usize,
    began: Instant,
    received: usize,
}

impl Pieces {
    /// # Errors
    /// The declared length exceeds `limit`.
    pub(crate) fn of(request: &HttpRequest, payload: Payload, limit: usize, pace: BodyPace) -> Result<Self, ApiError> {
        check_length(request, limit)?;
        Ok(Self { payload, pace, limit, began: Instant::now(), received: 0 })
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The body is incomplete, too long or too slow.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let BodyPace { grace, bytes_per_second } = self.pace;
        let earned = Duration::from_secs_f64(self.received as f64 / f64::from(bytes_per_second.max(1)));
        let piece = timeout_at(self.began + grace + earned, self.payload.next()).await;
        let Some(piece) = piece.map_err(|_| ApiError::too_slow(grace, bytes_per_second))? else { return Ok(None) };
        let piece = piece.map_err(|error| ApiError::malformed(format!("the body is incomplete: {error}")))?;
        self.received += piece.len();
        if self.received > self.limit { Err(ApiError::too_large(self.limit)) } else { Ok(Some(piece)) }
    }

    /// Writes the body to a file, which is read from its start, and shows each piece to `seen`.
    ///
    /// # Errors
    /// As [`Pieces::next`]; or the file cannot be written.
    pub(crate) async fn into_file(mut self, mut seen: impl FnMut(&[u8])) -> Result<File, ApiError> {
        let file = spool().map_err(unwritten)?;
        let mut file = tokio::fs::File::from_std(file);
        while let Some(piece) = self.next().await? {
            seen(&piece);
            file.write_all(&piece).await.map_err(unwritten)?;
        }
        file.flush().await.map_err(unwritten)?;
        let mut file = file.into_std().await;
        io::Seek::rewind(&mut file).map_err(unwritten)?;
        Ok(file)
    }
}

pub(crate) fn unwritten(error: io::Error) -> ApiError {
    match error.kind() {
        io::ErrorKind::StorageFull => ApiError::no_space("the folder of temporary files"),
        _ => ApiError::internal(&error),
    }
}

/// A new file, which is gone once it is closed.
pub(crate) fn spool() -> io::Result<File> {
    tempfile::tempfile_in(folder())
}

/// `TMPDIR`, or else `/var/tmp`: `/tmp` is in memory on some systems.
fn folder() -> PathBuf {
    let persistent = Path::new("/var/tmp");
    match env::var_os("TMPDIR") {
        None if persistent.is_dir() => persistent.to_owned(),
        _ => env::temp_dir(),
    }
}
