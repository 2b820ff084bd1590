//! Files as artifacts: sent and received a piece at a time, so that a large one takes no more memory than a small one.

use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use lyceum_core::artifact::Digest;
use object_store::path::Path;
use object_store::{GetResult, GetResultPayload, MultipartUpload, ObjectStore, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet, spawn_blocking};

use crate::{Result, StoreError};

/// Bytes of a file that are sent at a time, the least that buckets take. They take 10,000 parts, 49 GiB.
const PART: u64 = 5 << 20;
/// Parts on their way at once.
const PARTS: usize = 2;
/// Bytes copied at a time.
const PIECE: usize = 256 << 10;
/// Received pieces that wait to be written.
const WAITING: usize = 4;

/// The digest of what is left of `file`, and the number of bytes. Blocks.
///
/// # Errors
/// It cannot be read.
pub fn digest_of(file: &mut impl Read) -> io::Result<(Digest, u64)> {
    copy(file, &mut io::sink())
}

/// Copies what is left of `from`, and returns its digest and the number of bytes. Blocks.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<(Digest, u64)> {
    let mut hashed = Hashed::new(to);
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(hashed.end()),
            Ok(read) => hashed.write(&piece[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A writer that hashes what passes.
struct Hashed<W> {
    to: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Hashed<W> {
    fn new(to: W) -> Self {
        Self { to, hash: Sha256::new(), bytes: 0 }
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        self.hash.update(piece);
        self.bytes += piece.len() as u64;
        self.to.write_all(piece)
    }

    fn end(self) -> (Digest, u64) {
        (Digest(self.hash.finalize().into()), self.bytes)
    }
}

/// Writes an object to the end of `file`; returns the digest of what came, and the number of bytes.
pub(super) async fn receive(object: GetResult, mut file: File) -> Result<(Digest, u64)> {
    match object.payload {
        GetResultPayload::File(mut source, _) => blocking("download", move || copy(&mut source, &mut file)).await,
        GetResultPayload::Stream(pieces) => receive_pieces(pieces, file).await,
    }
}

/// Hashing and writing have a thread of their own, which waits for pieces as the network waits for it.
async fn receive_pieces(
    mut pieces: BoxStream<'static, object_store::Result<bytes::Bytes>>,
    file: File,
) -> Result<(Digest, u64)> {
    let (sender, mut waiting) = mpsc::channel::<bytes::Bytes>(WAITING);
    let written = blocking("download", move || {
        let mut hashed = Hashed::new(file);
        while let Some(piece) = waiting.blocking_recv() {
            hashed.write(&piece)?;
        }
        Ok(hashed.end())
    });
    let received = async move {
        while let Some(piece) = pieces.try_next().await? {
            if sender.send(piece).await.is_err() {
                // The writer has failed, and says why.
                break;
            }
        }
        Ok::<_, StoreError>(())
    };
    let (written, received) = tokio::join!(written, received);
    received.and(written)
}

/// Writes the `bytes` bytes of `file` from its start to `place`.
pub(super) async fn send(mut file: File, bytes: u64, objects: &dyn ObjectStore, place: &Path) -> Result<()> {
    if bytes <= PART {
        let whole = part(&mut file, bytes).await?;
        objects.put(place, PutPayload::from(whole)).await?;
        return Ok(());
    }
    let mut upload = objects.put_multipart(place).await?;
    let sent = match send_parts(&mut file, bytes, upload.as_mut()).await {
        Ok(()) => upload.complete().await.map(drop).map_err(StoreError::from),
        Err(error) => Err(error),
    };
    if sent.is_err() {
        // Else a bucket keeps the parts that came. Why they are of no use says more than why they cannot be removed.
        if let Err(left) = upload.abort().await {
            tracing::debug!(error = %left, "an unfinished upload stays at {place}");
        }
    }
    sent
}

async fn send_parts(file: &mut File, bytes: u64, upload: &mut dyn MultipartUpload) -> Result<()> {
    let mut on_their_way = JoinSet::new();
    let mut left = bytes;
    while left > 0 {
        if on_their_way.len() == PARTS
            && let Some(ended) = on_their_way.join_next().await
        {
            arrived(ended)?;
        }
        let next = part(file, PART.min(left)).await?;
        left -= next.len() as u64;
        on_their_way.spawn(upload.put_part(next.into()));
    }
    while let Some(ended) = on_their_way.join_next().await {
        arrived(ended)?;
    }
    Ok(())
}

/// Whether a part arrived.
fn arrived(ended: std::result::Result<object_store::Result<()>, JoinError>) -> Result<()> {
    Ok(ended.map_err(|error| failed("upload", io::Error::other(error)))??)
}

/// The next `bytes` bytes of `file`.
async fn part(file: &mut File, bytes: u64) -> Result<Vec<u8>> {
    let mut file = file.try_clone().map_err(|error| failed("upload", error))?;
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    blocking("upload", move || {
        let mut part = vec![0; bytes];
        file.read_exact(&mut part)?;
        Ok(part)
    })
    .await
}

/// Another handle of `file`, which is then at `place`, as all its handles are.
pub(super) fn at(file: &File, place: u64) -> Result<File> {
    let mut same = file.try_clone().map_err(|error| failed("file", error))?;
    same.seek(SeekFrom::Start(place)).map_err(|error| failed("file", error))?;
    Ok(same)
}

/// Where `file` is read or written next.
pub(super) fn place(mut file: &File) -> Result<u64> {
    file.stream_position().map_err(|error| failed("file", error))
}

/// Ends `file` at `place`, and goes there.
pub(super) fn cut(file: &File, place: u64) -> Result<()> {
    file.set_len(place).map_err(|error| failed("file", error))?;
    at(file, place).map(drop)
}

/// Runs work on a file on a thread that may block.
async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    let done = spawn_blocking(work).await.map_err(io::Error::other).flatten();
    done.map_err(|error| failed(what, error))
}

fn failed(what: &'static str, source: io::Error) -> StoreError {
    StoreError::Artifacts(object_store::Error::Generic { store: what, source: source.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::ArtifactStore;
    use lyceum_core::artifact::ArtifactKind;

    fn file(bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(uuid::Uuid::new_v4().to_string());
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    #[tokio::test]
    async fn files_of_any_length_come_back_as_they_were() {
        let store = ArtifactStore::in_memory();
        let part = usize::try_from(PART).unwrap();
        for length in [0, 1, part, part + 1, 2 * part + 3] {
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let (digest, count) = digest_of(&mut file(&bytes)).unwrap();
            assert_eq!((digest, count), (Digest::of(&bytes), length as u64));
            store.put_file(ArtifactKind::Optimizer, digest, &file(&bytes), count).await.unwrap();
            assert!(store.get(digest).await.unwrap() == bytes, "{length}");
            let mut into = file(&[]);
            assert_eq!(store.get_file(digest, &into).await.unwrap(), count);
            into.rewind().unwrap();
            let mut read = Vec::new();
            into.read_to_end(&mut read).unwrap();
            assert!(read == bytes, "{length}");
        }
        let none = store.get_file(Digest::of(b"none"), &file(&[])).await;
        assert!(matches!(none, Err(StoreError::NotFound { .. })), "{none:?}");
    }

    #[tokio::test]
    async fn a_file_that_is_shorter_than_said_is_not_kept() {
        let store = ArtifactStore::in_memory();
        let digest = Digest::of(b"long");
        let cut = store.put_file(ArtifactKind::Optimizer, digest, &file(&vec![1; 9 << 20]), 20 << 20).await;
        assert!(matches!(cut, Err(StoreError::Artifacts(_))), "{cut:?}");
        assert!(matches!(store.get(digest).await, Err(StoreError::NotFound { .. })));
    }
}
