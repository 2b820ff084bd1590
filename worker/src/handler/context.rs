//! The context of a running item.

use bytes::Bytes;
use lyceum_core::artifact::{ArtifactKind, Digest};
use lyceum_core::work::WorkKey;
use lyceum_store::StoreError;
use lyceum_store::artifact::{ArtifactStore, digest_of};
use lyceum_store::work::Progress;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::HandlerError;
use crate::adapter::{Shelf, blocking, disk};
use crate::persist::persist;
use crate::scratch::ScratchFolder;

/// The artifacts of an item.
#[derive(Clone, Debug)]
pub struct Artifacts {
    /// Read from the first of these that has the artifact.
    pub read: Vec<ArtifactStore>,
    /// New artifacts are written here.
    pub write: ArtifactStore,
    /// Adapters that were read.
    pub adapters: Arc<Shelf>,
}

impl Artifacts {
    /// Artifacts of `store`, with `bytes` of adapters kept on this machine.
    #[must_use]
    pub fn keeping(store: ArtifactStore, bytes: u64) -> Self {
        Self { read: vec![store.clone()], write: store, adapters: Arc::new(Shelf::new(bytes)) }
    }
}

impl From<ArtifactStore> for Artifacts {
    /// Keeps no adapters.
    fn from(store: ArtifactStore) -> Self {
        Self::keeping(store, 0)
    }
}

/// The context of a running item.
#[derive(Clone, Debug)]
pub struct Context {
    /// The item's key.
    pub key: WorkKey,
    /// The number of this try, from 1.
    pub attempt: u32,
    artifacts: Artifacts,
    /// How long to try to read and write artifacts.
    patience: Duration,
    written: Arc<Mutex<Vec<Digest>>>,
    progress: watch::Sender<Progress>,
    cancelled: CancellationToken,
}

impl Context {
    /// The context of try number `attempt` of the item at `key`.
    pub(crate) fn new(key: WorkKey, attempt: u32, artifacts: Artifacts, cancelled: CancellationToken) -> Self {
        Self {
            key,
            attempt,
            artifacts,
            patience: Duration::ZERO,
            written: Arc::default(),
            progress: watch::Sender::default(),
            cancelled,
        }
    }

    /// Keeps trying to read and write artifacts for so long while their server is being restarted or busy. Dropping the
    /// future that does so ends it.
    #[must_use]
    pub(crate) fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Reports the item's progress, from 0 to 1, and current activity. An item without reports for long is shown as
    /// stalled.
    pub fn progress(&self, share: f32, note: &str) {
        self.progress.send_replace(Progress { share: Some(share), note: Some(note.to_owned()) });
    }

    /// Whether the item was cancelled. Code without awaits must check this from time to time.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Writes an artifact for the outcome to refer to.
    ///
    /// # Errors
    /// If it cannot be written, for example because the disk is full.
    pub async fn put(&self, kind: ArtifactKind, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let bytes = Bytes::from(bytes);
        let digest = persist(self.patience, || self.artifacts.write.put(kind, bytes.clone())).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Reads an artifact of the payload.
    ///
    /// # Errors
    /// If it is missing or damaged.
    pub async fn get(&self, digest: Digest) -> Result<Vec<u8>, StoreError> {
        let mut missing = StoreError::not_found("artifact", digest);
        for store in &self.artifacts.read {
            match persist(self.patience, || store.get(digest)).await {
                Err(error @ StoreError::NotFound { .. }) => missing = error,
                read => return read,
            }
        }
        Err(missing)
    }

    /// Writes an artifact from a file, a part at a time, for the outcome to refer to.
    ///
    /// # Errors
    /// As [`Context::put`]; or the file cannot be read.
    pub async fn put_file(&self, kind: ArtifactKind, path: &Path) -> Result<Digest, HandlerError> {
        let path = path.to_owned();
        let (file, digest, bytes) = blocking(move || {
            let mut file = File::open(path).map_err(disk)?;
            let (digest, bytes) = digest_of(&mut file).map_err(disk)?;
            Ok((file, digest, bytes))
        })
        .await?;
        persist(self.patience, || self.artifacts.write.put_file(kind, digest, &file, bytes)).await?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(digest);
        Ok(digest)
    }

    /// Appends an artifact of the payload to `file`, a piece at a time.
    ///
    /// # Errors
    /// As [`Context::get`]; or the file cannot be written.
    pub async fn fetch(&self, digest: Digest, file: File) -> Result<(), HandlerError> {
        let mut missing = StoreError::not_found("artifact", digest);
        for store in &self.artifacts.read {
            match persist(self.patience, || store.get_file(digest, &file)).await {
                Err(error @ StoreError::NotFound { .. }) => missing = error,
                read => return Ok(read.map(drop)?),
            }
        }
        Err(missing.into())
    }

    /// The folder with the files of an adapter of the payload, which is read unless the worker has it; `name` stands for it in
    /// messages.
    ///
    /// # Errors
    /// As [`Context::fetch`].
    pub(crate) async fn adapter(&self, name: &str, digest: Digest) -> Result<Arc<ScratchFolder>, HandlerError> {
        self.artifacts.adapters.get(self, name, digest).await
    }

    pub(crate) fn written(&self) -> Vec<Digest> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn watch_progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_store::Remote;
    use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    const BUSY: &str =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const KEPT: &str = "HTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const REFUSED: &str = "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

    /// Gives each connection the next of these answers to its one request; then it is closed. Returns what was sent.
    fn answering(answers: Vec<String>) -> (Remote, std::thread::JoinHandle<Vec<Vec<u8>>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = std::thread::spawn(move || {
            let answered = answers.iter().map(|answer| {
                let (mut stream, _) = listener.accept().unwrap();
                let body = body(&stream);
                stream.write_all(answer.as_bytes()).unwrap();
                body
            });
            answered.collect()
        });
        (Remote::new(&address, "token"), serving)
    }

    fn body(stream: &TcpStream) -> Vec<u8> {
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        body
    }

    fn context(server: Remote) -> Context {
        let artifacts = ArtifactStore::remote(server).into();
        let context = Context::new(WorkKey::new(0, "update"), 1, artifacts, CancellationToken::new());
        context.patient(Duration::from_secs(600))
    }

    #[tokio::test]
    async fn what_was_computed_is_sent_again_to_a_server_that_was_busy() {
        let answers = [BUSY, KEPT, BUSY, KEPT].map(str::to_owned).to_vec();
        let (server, serving) = answering(answers);
        let context = context(server);
        let digest = context.put(ArtifactKind::Tokens, b"tokens".to_vec()).await.unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"weights").unwrap();
        let weights = context.put_file(ArtifactKind::Adapter, file.path()).await.unwrap();
        assert_eq!(context.written(), [digest, weights]);
        let sent = serving.join().unwrap();
        assert_eq!(sent, [&b"tokens"[..], b"tokens", b"weights", b"weights"], "whole each time");
    }

    #[tokio::test]
    async fn what_broke_off_is_read_again_from_its_start() {
        let answer = |length: usize, body: &str| {
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        };
        let (server, serving) =
            answering(vec![answer(7, "wei"), answer(7, "weights"), BUSY.to_owned(), answer(6, "tokens")]);
        let context = context(server);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before ").unwrap();
        let digest = Digest::of(b"weights");
        context.fetch(digest, file.try_clone().unwrap()).await.unwrap();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "before weights");
        assert_eq!(context.get(Digest::of(b"tokens")).await.unwrap(), b"tokens");
        serving.join().unwrap();
    }

    #[tokio::test]
    async fn a_refusal_is_said_at_once_and_so_is_any_error_by_hand() {
        let (server, serving) = answering(vec![REFUSED.to_owned(), BUSY.to_owned()]);
        let context = context(server);
        let refused = context.put(ArtifactKind::Tokens, b"tokens".to_vec()).await.unwrap_err();
        assert!(refused.to_string().contains("413"), "{refused}");
        let by_hand = context.patient(Duration::ZERO);
        let busy = by_hand.put(ArtifactKind::Tokens, b"tokens".to_vec()).await.unwrap_err();
        assert!(busy.to_string().contains("503"), "{busy}");
        serving.join().unwrap();
    }
}
