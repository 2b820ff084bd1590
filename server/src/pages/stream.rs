//! Files that are made while they are sent: a thread writes, the connection takes, and no more than a few pieces wait.

use actix_web::{
    body::{BodyStream, BoxBody, MessageBody as _},
    web::Bytes,
};
use futures::stream;
use std::io::{self, Write};
use tokio::sync::mpsc;

/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;
/// Pieces that wait for a slow reader.
const WAITING: usize = 4;

/// Where a file is written; writing fails once nobody reads any more.
pub(crate) struct FileWriter {
    out: mpsc::Sender<io::Result<Bytes>>,
    piece: Vec<u8>,
}

impl FileWriter {
    fn send(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.out
            .blocking_send(Ok(piece.into()))
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "nobody reads the file any more"))
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() { Ok(()) } else { self.send() }
    }
}

/// The body that `write` makes on a thread of its own. When that fails, the body ends without its end, so that the file is
/// known to be torn; and the log says why.
pub(crate) fn file_body(write: impl FnOnce(FileWriter) -> io::Result<()> + Send + 'static) -> BoxBody {
    let (out, pieces) = mpsc::channel(WAITING);
    tokio::task::spawn_blocking(move || {
        let failed = out.clone();
        let writer = FileWriter {
            out,
            piece: Vec::with_capacity(PIECE),
        };
        if let Err(error) = write(writer)
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            tracing::error!(%error, "a file could not be written to its end");
            // The reader may have gone too.
            let _ = failed.blocking_send(Err(error));
        }
    });
    let pieces = stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((piece, pieces))
    });
    BodyStream::new(pieces).boxed()
}
