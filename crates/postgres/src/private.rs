//! A cluster that runs as long as its owner in this process.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::sync::mpsc;

use crate::account::{Account, private_file};
use crate::cluster::{Cluster, DATABASE, Durability, USER};
use crate::last_words::LastWords;
use crate::postmaster::{self, PidFile};
use crate::process::{Ending, KeptProcess, Policy, StartError};
use crate::socket::SocketFolder;
use crate::{Error, Result};

/// Postgres' "fast" shutdown, then its "immediate" one.
const POLICY: Policy =
    Policy { name: "Postgres", stop: Signal::SIGINT, patience: Duration::from_secs(30), stop_now: Signal::SIGQUIT };

/// A private Postgres in a folder, on a unix socket; restarted when it dies, stopped when dropped.
#[derive(Debug)]
pub struct PrivatePostgres {
    url: String,
    process: KeptProcess,
}

impl PrivatePostgres {
    /// Starts the cluster in `data_dir/postgres`, creating it first if there is none.
    ///
    /// `data_dir` must exist; if this process is root, the `postgres` account must be able to enter it.
    ///
    /// # Errors
    /// Any [`Error`]. A failed start leaves nothing behind that would make a second one fail.
    pub async fn start(data_dir: &Path) -> Result<Self> {
        let home = std::path::absolute(data_dir).map_err(Error::io("resolve", data_dir))?.join("postgres");
        let opened = tokio::task::spawn_blocking(move || open(&home)).await.map_err(|_| Error::Abandoned)?;
        let (lock, cluster, socket) = opened?;
        let url = socket.url(DATABASE);
        // The thread holds the lock, so that it is held for as long as there may be a postmaster.
        let start = move |spawned: &mut dyn FnMut(&std::process::Child) -> bool| {
            let _held = &lock;
            postmaster::start(&cluster, socket.path(), spawned)
        };
        let process = KeptProcess::start(POLICY, LastWords::default(), start).await.map_err(|error| match error {
            StartError::Failed(error) => error,
            StartError::Abandoned => Error::Abandoned,
        })?;
        Ok(Self { url, process })
    }

    /// The address of the database of `data_dir`, if another process is running it.
    pub fn running(data_dir: &Path) -> Option<String> {
        let data = crate::cluster::data_folder(&data_dir.join("postgres"));
        let file = PidFile::read(&data).filter(|file| file.ready && file.is_alive(&data))?;
        Some(crate::socket::url(&file.socket?, DATABASE))
    }

    /// The address of the database; it does not change on restarts.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same address for another role.
    pub fn url_as(&self, role: &str) -> String {
        self.url.replacen(&format!("//{USER}@"), &format!("//{role}@"), 1)
    }

    /// The process id of the postmaster; `None` while it is being restarted.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Its future endings; for the first caller only.
    pub fn endings(&mut self) -> Option<mpsc::Receiver<Ending>> {
        self.process.endings()
    }

    /// Stops Postgres: closes connections and flushes everything.
    pub async fn stop(self) {
        self.process.stop().await;
    }
}

/// Opens the folder, locked against a second Lyceum, with its cluster.
fn open(home: &Path) -> Result<(File, Cluster, SocketFolder)> {
    let account = Account::for_home(home)?;
    if let Some(parent) = home.parent() {
        account.check_can_enter(parent)?;
    }
    account.passage(home)?;
    let path = home.join("lock");
    let lock = private_file(&path)?;
    lock.try_lock().map_err(|_| Error::InUse { path: home.to_owned() })?;
    let cluster = Cluster::open(home, account, Durability::Durable)?;
    let socket = SocketFolder::make(home, &cluster.account)?;
    Ok((lock, cluster, socket))
}
