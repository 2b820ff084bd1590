//! The local worker: found, checked, and kept running.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lyceum_postgres::last_words::LastWords;
use lyceum_postgres::process::{KeptProcess, Policy, StartError, own_session, stop_with_parent};
use nix::sys::signal::Signal;

/// The name of the executable.
const PROGRAM: &str = "lyceum-worker";

/// Time for the worker to finish or return its items when stopped.
const POLICY: Policy =
    Policy { name: "the worker", stop: Signal::SIGTERM, patience: Duration::from_secs(45), stop_now: Signal::SIGKILL };

/// Why the local worker cannot run. Every message ends with a fix.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It is not installed.
    #[error("{PROGRAM} is neither next to {} nor on the path; build it with `cargo build --release -p {PROGRAM}`, set it with --worker, or use --no-worker", beside.display())]
    NotFound {
        /// The folder of this executable.
        beside: PathBuf,
    },
    /// libtorch cannot be loaded.
    #[error("{} cannot load libtorch ({said}); run script/bootstrap and build again, or add the lib folder of libtorch 2.11 to LD_LIBRARY_PATH", program.display())]
    NoLibtorch {
        /// The worker.
        program: PathBuf,
        /// The loader's message.
        said: String,
    },
    /// It belongs to another release.
    #[error("{} is {found}, this is lyceum {ours}; install both from one release", program.display())]
    OtherVersion {
        /// The worker.
        program: PathBuf,
        /// Its version.
        found: String,
        /// Our version.
        ours: &'static str,
    },
    /// It does not run.
    #[error("{} does not run: {said}", program.display())]
    Broken {
        /// The worker.
        program: PathBuf,
        /// Its message, or the system's.
        said: String,
    },
    /// The thread that watches it cannot be started.
    #[error("cannot start the thread that watches the worker")]
    Abandoned,
}

/// Finds the worker and checks that it runs and belongs to this release.
///
/// # Errors
/// All of [`WorkerError`].
pub fn find(named: Option<&Path>) -> Result<PathBuf, WorkerError> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => beside().or_else(on_path).ok_or_else(|| WorkerError::NotFound { beside: own_folder() })?,
    };
    let broken = |said: String| WorkerError::Broken { program: program.clone(), said };
    let output = Command::new(&program).arg("--version").output().map_err(|error| broken(error.to_string()))?;
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        if complained.contains("libtorch") || complained.contains("libc10") {
            return Err(WorkerError::NoLibtorch { program, said: complained });
        }
        return Err(broken(format!("{} {complained}", output.status)));
    }
    let ours = env!("CARGO_PKG_VERSION");
    if said.split_whitespace().nth(1) != Some(ours) {
        return Err(WorkerError::OtherVersion { program, found: said, ours });
    }
    Ok(program)
}

/// Keeps `program` running as a worker for the server at `server` and the database at `database_url`.
///
/// Both are passed in its environment, because command lines are visible to everyone on the machine.
///
/// # Errors
/// The first start fails.
pub async fn keep(program: PathBuf, environment: Vec<(&'static str, String)>) -> Result<KeptProcess, WorkerError> {
    let words = LastWords::default();
    let heard = words.clone();
    let start = move |spawned: &mut dyn FnMut(&std::process::Child) -> bool| {
        let mut command = Command::new(&program);
        command
            .arg("work")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            // For this process's own commands; the worker needs none.
            .env_remove("LYCEUM_TOKEN")
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        own_session(&mut command);
        stop_with_parent(&mut command, Signal::SIGTERM);
        let broken = |error: std::io::Error| WorkerError::Broken { program: program.clone(), said: error.to_string() };
        let mut child = command.spawn().map_err(broken)?;
        if let Some(stderr) = child.stderr.take() {
            heard.follow(stderr).map_err(broken)?;
        }
        spawned(&child);
        Ok(child)
    };
    KeptProcess::start(POLICY, words, start).await.map_err(|error| match error {
        StartError::Failed(error) => error,
        StartError::Abandoned => WorkerError::Abandoned,
    })
}

fn own_folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(Path::to_owned).unwrap_or_default()
}

fn beside() -> Option<PathBuf> {
    Some(own_folder().join(PROGRAM)).filter(|program| program.is_file())
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(PROGRAM)).find(|program| program.is_file())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().lines().last().unwrap_or_default().to_owned()
}
