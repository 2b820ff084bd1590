//! The local worker: found, checked, and kept running.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use lyceum_postgres::process::{KeptProcess, Policy, StartError, own_session, stop_with_parent};
use nix::sys::signal::Signal;

/// The program's name, beside this one or on the path.
const PROGRAM: &str = "lyceum-worker";

/// The worker finishes or hands back what it holds when told to stop; an item may take a while.
const POLICY: Policy = Policy {
    name: "the worker",
    stop: Signal::SIGTERM,
    patience: Duration::from_secs(45),
    stop_now: Signal::SIGKILL,
};

/// Why there can be no local worker. Every message ends with the cure.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// It is not installed.
    #[error("there is no {PROGRAM} beside {} or on the path; build it with `cargo build --release -p {PROGRAM}`, name it with --worker, or go without it by --no-worker", beside.display())]
    NotFound {
        /// The folder of this program.
        beside: PathBuf,
    },
    /// The system cannot load libtorch.
    #[error("{} cannot load libtorch ({said}); run script/bootstrap and build again, or add the lib folder of libtorch 2.11 to LD_LIBRARY_PATH", program.display())]
    NoLibtorch {
        /// The worker.
        program: PathBuf,
        /// What the loader says.
        said: String,
    },
    /// It is of another release.
    #[error("{} is {found}, this is lyceum {ours}; install both of one release", program.display())]
    OtherVersion {
        /// The worker.
        program: PathBuf,
        /// What it says it is.
        found: String,
        /// Our version.
        ours: &'static str,
    },
    /// It does not run.
    #[error("{} does not run: {said}", program.display())]
    Broken {
        /// The worker.
        program: PathBuf,
        /// What it or the system says.
        said: String,
    },
    /// The system gave no thread to watch it.
    #[error("the thread that watches the worker could not be started")]
    Abandoned,
}

/// Finds the worker and makes sure that it runs and is of this release.
///
/// # Errors
/// All of [`WorkerError`].
pub fn find(named: Option<&Path>) -> Result<PathBuf, WorkerError> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => beside()
            .or_else(on_path)
            .ok_or_else(|| WorkerError::NotFound { beside: own_folder() })?,
    };
    let broken = |said: String| WorkerError::Broken {
        program: program.clone(),
        said,
    };
    let output = Command::new(&program)
        .arg("--version")
        .output()
        .map_err(|error| broken(error.to_string()))?;
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        if complained.contains("libtorch") || complained.contains("libc10") {
            return Err(WorkerError::NoLibtorch {
                program,
                said: complained,
            });
        }
        return Err(broken(format!("{} {complained}", output.status)));
    }
    let ours = env!("CARGO_PKG_VERSION");
    if said.split_whitespace().nth(1) != Some(ours) {
        return Err(WorkerError::OtherVersion {
            program,
            found: said,
            ours,
        });
    }
    Ok(program)
}

/// Keeps `program` running as a worker of the server at `server` and the database at `database_url`.
///
/// Both reach it by its environment, because everybody on the machine can read a command line.
///
/// # Errors
/// A program that cannot be started the first time.
pub async fn keep(program: PathBuf, environment: Vec<(&'static str, String)>) -> Result<KeptProcess, WorkerError> {
    let start = move |spawned: &mut dyn FnMut(&std::process::Child) -> bool| {
        let mut command = Command::new(&program);
        command
            .arg("work")
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        own_session(&mut command);
        stop_with_parent(&mut command, Signal::SIGTERM);
        let child = command.spawn().map_err(|error| WorkerError::Broken {
            program: program.clone(),
            said: error.to_string(),
        })?;
        spawned(&child);
        Ok(child)
    };
    KeptProcess::start(POLICY, start).await.map_err(|error| match error {
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
    std::env::split_paths(&path)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim()
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned()
}
