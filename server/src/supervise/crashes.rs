//! Writes the crashes of kept processes to the database, where `/` shows them.

use std::time::Duration;

use chrono::Utc;
use lyceum_postgres::process::Ending;
use lyceum_store::crashes;
use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

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
        Self {
            pool,
            host: host(),
            tasks: Vec::new(),
        }
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
    let Ending {
        name,
        at,
        cause,
        last_words,
    } = ending;
    let program = name.trim_start_matches("the ");
    while let Err(error) = crashes::record(pool, host, program, cause, last_words, (*at).into()).await {
        tracing::debug!(%error, "cannot record a crash yet");
        tokio::time::sleep(PAUSE).await;
    }
}
