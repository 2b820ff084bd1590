//! Supervision of the processes on one machine: the data folder, the private Postgres, the server, the local worker. What
//! ends a process is written to the database, where `/` shows it.

pub mod data_folder;
pub(crate) mod demo;
pub mod server;
pub mod worker;

use chrono::Utc;
use lyceum_postgres::process::Ending;
use lyceum_store::crashes;
use sqlx::PgPool;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use data_folder::DataFolder;

/// The name of the whole in the table of crashes.
const ITSELF: &str = "lyceum up";
/// What is known of a `lyceum up` that could not say anything.
const NOT_STOPPED: &str =
    "it was found at the next start: nobody had stopped it, so it was killed or the machine went down";

/// Between two attempts to write, since the database itself may be what has crashed.
const PAUSE: Duration = Duration::from_secs(1);

/// Records endings until dropped.
#[derive(Debug)]
pub struct Recorder {
    pool: PgPool,
    host: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// A recorder for this machine.
    pub fn new(pool: PgPool) -> Self {
        Self { pool, host: host(), tasks: Vec::new() }
    }

    /// Records that the `lyceum up` before this one was not stopped.
    pub async fn not_stopped(&self) {
        if let Err(error) = crashes::record(&self.pool, &self.host, ITSELF, NOT_STOPPED, "", Utc::now()).await {
            tracing::warn!(%error, "cannot record that {ITSELF} was not stopped");
        }
    }

    /// Records the endings of a process from now on.
    pub fn watch(&mut self, endings: Option<mpsc::Receiver<Ending>>) {
        let Some(mut endings) = endings else { return };
        let (pool, host) = (self.pool.clone(), self.host.clone());
        self.tasks.push(tokio::spawn(async move {
            while let Some(ending) = endings.recv().await {
                record(&pool, &host, &ending).await;
            }
        }));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// This machine's name.
pub(crate) fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

async fn record(pool: &PgPool, host: &str, ending: &Ending) {
    let Ending { name, at, cause, last_words } = ending;
    let program = name.trim_start_matches("the ");
    while let Err(error) = crashes::record(pool, host, program, cause, last_words, (*at).into()).await {
        tracing::debug!(%error, "cannot record a crash yet");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Listens for Ctrl-C and SIGTERM.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Starts listening; from now on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The signal handlers cannot be installed.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
