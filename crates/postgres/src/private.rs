//! A cluster that runs as long as this process wants it to.

use std::fs::File;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::sync::oneshot;

use crate::account::Account;
use crate::cluster::{Cluster, DATABASE, Durability};
use crate::socket::SocketFolder;
use crate::{Error, Result, postmaster};

const SHORTEST_BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(5);
/// A postmaster that lived this long has its next death forgiven.
const HEALTHY: Duration = Duration::from_secs(60);
/// How long a fast shutdown may take before connections and buffers are dropped.
const PATIENCE: Duration = Duration::from_secs(30);

/// A Postgres of one's own, in a folder, on a unix socket; restarted when it dies, stopped when dropped.
#[derive(Debug)]
pub struct PrivatePostgres {
    url: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl PrivatePostgres {
    /// Starts the cluster in `data_dir/postgres`, making it first if there is none.
    ///
    /// `data_dir` must exist; as root it must be one that the `postgres` account can enter.
    ///
    /// # Errors
    /// Everything in [`Error`]; nothing half-made stays behind that a second start would trip over.
    pub async fn start(data_dir: &Path) -> Result<Self> {
        let home = std::path::absolute(data_dir)
            .map_err(Error::io("resolve", data_dir))?
            .join("postgres");
        let shared = Arc::new(Shared::default());
        let (ready, readiness) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("postgres".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run(&home, &shared, ready)
            })
            .map_err(Error::io("start a thread for", data_dir))?;
        let url = readiness.await.map_err(|_| Error::Abandoned)??;
        Ok(Self {
            url,
            shared,
            thread: Some(thread),
        })
    }

    /// The address of the database, the same over restarts.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process id of the postmaster, none while it is being restarted.
    pub fn pid(&self) -> Option<u32> {
        self.shared.lock().postmaster.map(|pid| pid.as_raw().cast_unsigned())
    }

    /// Stops Postgres: connections are ended, everything is flushed.
    ///
    /// # Errors
    /// [`Error::Abandoned`] if the thread that watches Postgres had failed.
    pub async fn stop(mut self) -> Result<()> {
        let thread = self.begin_stop();
        tokio::task::spawn_blocking(move || finish_stop(thread))
            .await
            .map_err(|_| Error::Abandoned)?
    }

    fn begin_stop(&mut self) -> Option<(JoinHandle<()>, Arc<Shared>)> {
        self.shared.stop(Signal::SIGINT);
        self.thread.take().map(|thread| (thread, Arc::clone(&self.shared)))
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        let thread = self.begin_stop();
        let _ = finish_stop(thread);
    }
}

fn finish_stop(thread: Option<(JoinHandle<()>, Arc<Shared>)>) -> Result<()> {
    let Some((thread, shared)) = thread else { return Ok(()) };
    if !shared.wait_for_end(PATIENCE) {
        tracing::warn!(
            "Postgres did not stop within {} s and is told to leave at once",
            PATIENCE.as_secs()
        );
        shared.stop(Signal::SIGQUIT);
    }
    thread.join().map_err(|_| Error::Abandoned)
}

/// What the thread that watches Postgres and its owner both see.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    ended: bool,
    postmaster: Option<Pid>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Under the lock, under which the process id is forgotten before the process is reaped: it is never another's.
    fn stop(&self, signal: Signal) {
        let mut state = self.lock();
        state.stopping = true;
        if let Some(pid) = state.postmaster {
            let _ = kill(pid, signal);
        }
        self.changed.notify_all();
    }

    fn is_stopping(&self) -> bool {
        self.lock().stopping
    }

    /// Sleeps for `delay`; false if it was cut short by a stop.
    fn pause(&self, delay: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), delay, |state| !state.stopping);
        !waited.unwrap_or_else(PoisonError::into_inner).0.stopping
    }

    fn wait_for_end(&self, limit: Duration) -> bool {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), limit, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Waits for the end of `child` without reaping it, forgets it, then reaps it.
    fn wait(&self, mut child: Child) -> std::io::Result<std::process::ExitStatus> {
        let pid = Pid::from_raw(child.id().cast_signed());
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR) {}
        let mut state = self.lock();
        state.postmaster = None;
        child.wait()
    }
}

/// The thread: opens, starts, watches, restarts.
fn run(home: &Path, shared: &Shared, ready: oneshot::Sender<Result<String>>) {
    match open(home) {
        Ok((lock, cluster, socket)) => {
            supervise(&cluster, &socket, shared, ready);
            drop(lock);
        }
        Err(error) => {
            let _ = ready.send(Err(error));
        }
    }
    shared.end();
}

/// The folder, locked against a second Lyceum, with a cluster in it.
fn open(home: &Path) -> Result<(File, Cluster, SocketFolder)> {
    let account = Account::for_home(home)?;
    if let Some(parent) = home.parent() {
        account.check_can_enter(parent)?;
    }
    account.passage(home)?;
    let path = home.join("lock");
    let lock = File::create(&path).map_err(Error::io("write", &path))?;
    lock.try_lock().map_err(|_| Error::InUse { path: home.to_owned() })?;
    let cluster = Cluster::open(home, account, Durability::Durable)?;
    let socket = SocketFolder::make(home, &cluster.account)?;
    Ok((lock, cluster, socket))
}

fn supervise(cluster: &Cluster, socket: &SocketFolder, shared: &Shared, ready: oneshot::Sender<Result<String>>) {
    let mut ready = Some(ready);
    let mut back_off = SHORTEST_BACK_OFF;
    loop {
        let started = Instant::now();
        let spawned = |child: &Child| {
            let mut state = shared.lock();
            state.postmaster = Some(Pid::from_raw(child.id().cast_signed()));
            !state.stopping
        };
        match postmaster::start(cluster, socket.path(), spawned) {
            Ok(child) => {
                tracing::info!(
                    postgres.pid = child.id(),
                    "Postgres {} is ready",
                    cluster.binaries.version()
                );
                if let Some(ready) = ready.take() {
                    let _ = ready.send(Ok(socket.url(DATABASE)));
                }
                let status = shared.wait(child);
                if shared.is_stopping() {
                    return;
                }
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                tracing::warn!("Postgres ended unexpectedly ({status}) and is started again");
            }
            Err(error) => {
                shared.lock().postmaster = None;
                if let Some(ready) = ready.take() {
                    let _ = ready.send(Err(error));
                    return;
                }
                if !shared.is_stopping() {
                    tracing::error!("Postgres cannot be started again, retrying in {back_off:?}: {error}");
                }
            }
        }
        if started.elapsed() > HEALTHY {
            back_off = SHORTEST_BACK_OFF;
        }
        if !shared.pause(back_off) {
            return;
        }
        back_off = (back_off * 2).min(LONGEST_BACK_OFF);
    }
}
