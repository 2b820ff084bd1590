//! The server as a process of its own, kept running on a port that stays open meanwhile.

use std::net::TcpListener;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use lyceum_postgres::last_words::LastWords;
use lyceum_postgres::process::{KeptProcess, Policy, StartError, own_session, stop_with_parent};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::signal::Signal;
use ureq::Agent;

/// Longer than the server itself gives to requests and plans in progress.
const POLICY: Policy =
    Policy { name: "the server", stop: Signal::SIGTERM, patience: Duration::from_secs(45), stop_now: Signal::SIGKILL };

/// Between two looks at a server that starts.
const POLL: Duration = Duration::from_millis(20);
/// How long one request to it may take; the next one follows.
const ANSWER: Duration = Duration::from_secs(1);

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot be started.
    #[error("the server cannot be started: {0}")]
    Broken(#[from] std::io::Error),
    /// It ended before it answered.
    #[error("the server ended while it started ({0}); its own message is in the log above")]
    Ended(ExitStatus),
    /// The thread that watches it cannot be started.
    #[error("cannot start the thread that watches the server")]
    Abandoned,
}

/// Keeps the server running on `listener`, with the short log of a terminal if `brief`, and waits until it answers.
///
/// Its settings are passed in its environment, because command lines are visible to everyone on the machine. The listener
/// stays open in this process, so requests that arrive while the server is restarted wait instead of being refused.
///
/// # Errors
/// The first start fails.
pub async fn keep(
    listener: TcpListener,
    brief: bool,
    environment: Vec<(&'static str, String)>,
) -> Result<KeptProcess, ServerError> {
    let program = std::env::current_exe()?;
    let health = format!("http://{}/healthz", listener.local_addr()?);
    let words = LastWords::default();
    let heard = words.clone();
    let start = move |spawned: &mut dyn FnMut(&Child) -> bool| {
        let mut child = spawn(&program, &listener, brief, &environment)?;
        if let Some(stderr) = child.stderr.take() {
            heard.follow(stderr)?;
        }
        if !spawned(&child) || await_answer(&mut child, &health)? {
            return Ok(child);
        }
        Err(ServerError::Ended(child.wait()?))
    };
    KeptProcess::start(POLICY, words, start).await.map_err(|error| match error {
        StartError::Failed(error) => error,
        StartError::Abandoned => ServerError::Abandoned,
    })
}

fn spawn(
    program: &Path,
    listener: &TcpListener,
    brief: bool,
    environment: &[(&'static str, String)],
) -> std::io::Result<Child> {
    let passed = OwnedFd::from(listener.try_clone()?);
    let mut command = Command::new(program);
    command
        .arg("server")
        .args(brief.then_some("--brief"))
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .env("LISTEN_FDS", "1")
        .env("LISTEN_FDS_FIRST_FD", passed.as_raw_fd().to_string())
        .env_remove("LISTEN_PID")
        // For this process's own commands; the server needs none.
        .env_remove("LYCEUM_TOKEN")
        .stdin(Stdio::null())
        // It would say that it is ready; whoever keeps it does.
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    own_session(&mut command);
    // At once, so that its port is free for the next start. It survives this as it survives any crash.
    stop_with_parent(&mut command, Signal::SIGKILL);
    // Only the server inherits it: the flag is changed after the fork.
    let inherit = move || fcntl(&passed, FcntlArg::F_SETFD(FdFlag::empty())).map(drop).map_err(Into::into);
    // SAFETY: fcntl is async-signal-safe and touches nothing of the parent's memory.
    unsafe { command.pre_exec(inherit) };
    command.spawn()
}

/// Returns true when it answers, false if it has ended.
fn await_answer(child: &mut Child, health: &str) -> std::io::Result<bool> {
    let agent: Agent = Agent::config_builder().timeout_global(Some(ANSWER)).build().into();
    while child.try_wait()?.is_none() {
        if agent.get(health).call().is_ok() {
            return Ok(true);
        }
        sleep(POLL);
    }
    Ok(false)
}
