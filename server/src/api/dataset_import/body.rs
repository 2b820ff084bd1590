//! The body of a request as a file that another thread reads while it arrives.

use actix_web::{
    HttpRequest,
    http::header::CONTENT_TYPE,
    web::{Bytes, Payload},
};
use futures::StreamExt as _;
use std::io::{self, Read};
use tokio::sync::mpsc;

use crate::api_error::ApiError;

/// Pieces waiting for the reader.
const WAITING: usize = 8;

/// The media types of files of rows. Which of them it is, the first bytes tell.
const TYPES: [&str; 4] = [
    "application/x-ndjson",
    "application/gzip",
    "application/vnd.apache.parquet",
    "application/octet-stream",
];

pub(super) fn check_type(request: &HttpRequest) -> Result<(), ApiError> {
    let sent = request.headers().get(CONTENT_TYPE);
    let sent = sent.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    match TYPES.contains(&sent) {
        true => Ok(()),
        false => Err(ApiError::unsupported_type(
            "application/x-ndjson, application/gzip, application/vnd.apache.parquet or application/octet-stream",
        )),
    }
}

enum Piece {
    Bytes(Bytes),
    /// The body is complete. Without it the channel's end is that of a body that broke off.
    End,
}

/// The reading end.
pub(super) struct Body {
    pieces: mpsc::Receiver<Piece>,
    current: Bytes,
    is_complete: bool,
}

/// A file, and the future that fills it with the body.
///
/// The future's error: the body is incomplete, or longer than `limit`.
pub(super) fn piped(mut payload: Payload, limit: usize) -> (Body, impl Future<Output = Result<(), ApiError>>) {
    let (send, pieces) = mpsc::channel(WAITING);
    let body = Body {
        pieces,
        current: Bytes::new(),
        is_complete: false,
    };
    let fill = async move {
        let mut read = 0;
        let mut is_wanted = true;
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|error| ApiError::malformed(format!("the body is incomplete: {error}")))?;
            read += chunk.len();
            if read > limit {
                return Err(ApiError::too_large(limit));
            }
            // A body that was refused is still received, so that the client reads why.
            is_wanted = is_wanted && send.send(Piece::Bytes(chunk)).await.is_ok();
        }
        // The reader may have ended before.
        let _ = send.send(Piece::End).await;
        Ok(())
    };
    (body, fill)
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.is_complete {
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.current = bytes,
                Some(Piece::End) => self.is_complete = true,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = out.len().min(self.current.len());
        out[..length].copy_from_slice(&self.current.split_to(length));
        Ok(length)
    }
}
