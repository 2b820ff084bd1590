//! Starts, waits for and signals a postmaster process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::account::private_file;
use crate::cluster::{Cluster, last_lines};
use crate::process::{own_session, stop_with_parent};
use crate::{Error, Result};

const POLL: Duration = Duration::from_millis(5);
/// How long an orphan may take to stop before an immediate shutdown.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the backends of a killed postmaster may hold its shared memory.
const LEFTOVERS: Duration = Duration::from_secs(30);

/// Contents of `postmaster.pid`.
pub(crate) struct PidFile {
    pub(crate) pid: Pid,
    pub(crate) ready: bool,
    /// The folder of its socket.
    pub(crate) socket: Option<PathBuf>,
}

impl PidFile {
    pub(crate) fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
        // Process, data folder, start time, port, socket folder, listening address, shared memory, state.
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let socket = lines.get(4).filter(|folder| !folder.is_empty());
        Some(Self {
            pid: Pid::from_raw(lines.first()?.parse().ok()?),
            ready: lines.get(7) == Some(&"ready"),
            socket: socket.map(PathBuf::from),
        })
    }

    /// Whether the process is a postmaster on `data`: after a crash, its process id may have been reused.
    pub(crate) fn is_alive(&self, data: &Path) -> bool {
        let cwd = fs::read_link(format!("/proc/{}/cwd", self.pid));
        matches!((cwd, data.canonicalize()), (Ok(cwd), Ok(data)) if cwd == data)
    }
}

/// Stops a postmaster that outlived the process that started it.
pub(crate) fn stop_orphan(data: &Path) -> Result<()> {
    let Some(orphan) = PidFile::read(data).filter(|orphan| orphan.is_alive(data)) else { return Ok(()) };
    tracing::warn!(postgres.pid = orphan.pid.as_raw(), "stopping a Postgres that an earlier start left behind");
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        let _ = kill(orphan.pid, signal);
        let deadline = Instant::now() + PATIENCE;
        while orphan.is_alive(data) && Instant::now() < deadline {
            sleep(POLL);
        }
        if !orphan.is_alive(data) {
            return Ok(());
        }
    }
    Err(Error::DoesNotStop { pid: orphan.pid.as_raw(), path: data.to_owned() })
}

/// Starts a postmaster and waits until it accepts connections.
///
/// `spawned` gets its process id at once, so that it can be signalled while it starts; it returns false to give up. The
/// calling thread must live as long as the postmaster, which is told to stop when that thread ends.
pub(crate) fn start(cluster: &Cluster, socket: &Path, spawned: &mut dyn FnMut(&Child) -> bool) -> Result<Child> {
    let data = cluster.data();
    stop_orphan(&data)?;
    let deadline = Instant::now() + LEFTOVERS;
    loop {
        let log = cluster.home.join("start.log");
        let mut child = spawn(cluster, socket, &log)?;
        let wanted = spawned(&child);
        if wanted && await_ready(&mut child, &data)? {
            tracing::info!(postgres.pid = child.id(), "Postgres {} is ready", cluster.binaries.version());
            return Ok(child);
        }
        let status = child.wait().map_err(Error::io("wait for", &data))?;
        let said = fs::read_to_string(&log).unwrap_or_default();
        if !wanted || !is_leftover(&said) || Instant::now() >= deadline {
            return Err(Error::Failed { program: "postgres", status: status.to_string(), output: last_lines(&said) });
        }
        sleep(Duration::from_millis(100));
    }
}

fn spawn(cluster: &Cluster, socket: &Path, log: &Path) -> Result<Child> {
    let program = cluster.binaries.program("postgres");
    let said = private_file(log)?;
    let heard = said.try_clone().map_err(Error::io("write", log))?;
    let mut command = cluster.account.command(&program);
    command.arg("-D").arg(cluster.data()).args(cluster.server_arguments(socket)).stdout(said).stderr(heard);
    own_session(&mut command);
    stop_with_parent(&mut command, Signal::SIGINT);
    command.spawn().map_err(Error::io("run", program))
}

/// Returns true when ready, false if the process has ended. Recovery after a crash has no time limit.
fn await_ready(child: &mut Child, data: &Path) -> Result<bool> {
    let started = Instant::now();
    let mut told = false;
    loop {
        if child.try_wait().map_err(Error::io("wait for", data))?.is_some() {
            return Ok(false);
        }
        if PidFile::read(data).is_some_and(|file| file.ready && file.pid.as_raw() == child.id().cast_signed()) {
            return Ok(true);
        }
        if !told && started.elapsed() > Duration::from_secs(5) {
            told = true;
            tracing::info!("waiting for Postgres, which may be recovering from a crash");
        }
        sleep(POLL);
    }
}

/// Whether Postgres did not start because processes of a killed one still exist.
fn is_leftover(said: &str) -> bool {
    said.contains("pre-existing shared memory block")
        || said.contains("already exists")
        || said.contains("another server")
}
