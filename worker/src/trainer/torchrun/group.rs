//! One group of processes, from its start until nothing of it is left.
//!
//! torchrun's agent is the leader of a process group, but gives each of its processes a session of its own. So every process
//! carries the group's folder in its environment, by which those that outlived the agent are found and killed. If this
//! process is killed itself, the kernel kills the agent, and then what the agent started (`update.py` asks for that).

use std::io::{BufRead as _, BufReader, Read};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getppid};
use procfs::process::all_processes;
use tokio::sync::oneshot;

use super::Tail;
use crate::scratch::ScratchFolder;

/// Names the group that a process belongs to, by its folder.
const FOLDER: &str = "LYCEUM_TORCHRUN_FOLDER";
/// Names the process that must have started torchrun's agent.
const PARENT: &str = "LYCEUM_TORCHRUN_PARENT";

/// Longest line of standard output.
const LINE: u64 = 1 << 16;
/// Longest wait for killed processes to go, and for what they wrote to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// A group that has ended.
pub(super) struct Ended {
    pub(super) folder: ScratchFolder,
    /// How its agent ended.
    pub(super) status: ExitStatus,
    /// The end of what it wrote to standard error.
    pub(super) words: String,
}

/// Runs `command` as a group on `folder`; `said` is called with each line of its standard output. Dropping the future kills
/// the group.
///
/// # Errors
/// It cannot be started.
pub(super) async fn run(
    command: Command,
    folder: ScratchFolder,
    said: impl FnMut(&str) + Send + 'static,
) -> io::Result<Ended> {
    let (reply, answer) = oneshot::channel();
    let group = Arc::new(Group::default());
    let _guard = KillOnDrop(Arc::clone(&group));
    // The kernel kills the agent when the thread that started it ends, so this one waits for it.
    thread::Builder::new()
        .name("torchrun".to_owned())
        .spawn(move || drop(reply.send(group.attend(command, folder, said))))?;
    answer.await.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
}

/// The agent of a group.
#[derive(Default)]
struct Group(Mutex<State>);

#[derive(Default)]
struct State {
    agent: Option<Pid>,
    is_cancelled: bool,
}

struct KillOnDrop(Arc<Group>);

impl Drop for KillOnDrop {
    /// The thread that waits for the agent then kills the others.
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_cancelled = true;
        if let Some(agent) = state.agent {
            let _ = killpg(agent, Signal::SIGKILL);
        }
    }
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attend(
        &self,
        mut command: Command,
        folder: ScratchFolder,
        said: impl FnMut(&str) + Send + 'static,
    ) -> io::Result<Ended> {
        command
            .env(FOLDER, folder.path())
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        end_with_parent(&mut command);
        let mut agent = self.start(command)?;
        let tail = Tail::default();
        let reading = follow(&mut agent, said, &tail);
        if reading.is_err() {
            let _ = agent.kill();
        }
        let status = self.wait(agent);
        kill_members(folder.path());
        // Until both streams have ended; somebody who left the group and still holds one is not waited for.
        let _ = reading?.recv_timeout(PATIENCE);
        Ok(Ended { folder, status: status?, words: tail.text() })
    }

    /// Starts the agent, unless it was to be killed already.
    fn start(&self, mut command: Command) -> io::Result<Child> {
        let mut state = self.lock();
        if state.is_cancelled {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let agent = command.spawn()?;
        state.agent = Some(Pid::from_raw(agent.id().cast_signed()));
        Ok(agent)
    }

    /// Waits for the end of the agent without reaping it, forgets its id, then reaps it.
    fn wait(&self, mut agent: Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_raw(agent.id().cast_signed());
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
        self.lock().agent = None;
        agent.wait()
    }
}

/// Makes the command end when the thread that starts it does, and so when this process does, for any reason.
fn end_with_parent(command: &mut Command) {
    let parent = Pid::this();
    let tie = move || {
        set_pdeathsig(Signal::SIGKILL)?;
        // If this process has ended already, nothing would be sent.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // SAFETY: prctl and getppid are async-signal-safe and touch nothing of the parent's memory.
    unsafe { command.pre_exec(tie) };
}

/// Kills the processes of the group whose folder this is, until there are none.
fn kill_members(folder: &Path) {
    let give_up = Instant::now() + PATIENCE;
    while kill_once(folder).is_break() {
        if Instant::now() > give_up {
            tracing::warn!("processes of the update in {} do not end", folder.display());
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Breaks if there were any.
fn kill_once(folder: &Path) -> ControlFlow<()> {
    let Ok(processes) = all_processes() else { return ControlFlow::Continue(()) };
    let mut found = ControlFlow::Continue(());
    for process in processes.flatten() {
        // Those of others cannot be read, and those that have ended have no environment.
        let environment = process.environ().unwrap_or_default();
        if environment.get(std::ffi::OsStr::new(FOLDER)).is_some_and(|of| Path::new(of) == folder) {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
            found = ControlFlow::Break(());
        }
    }
    found
}

/// Reads the agent's streams on threads of their own, which hold the other end of the channel until the streams end.
fn follow(agent: &mut Child, said: impl FnMut(&str) + Send + 'static, tail: &Tail) -> io::Result<mpsc::Receiver<()>> {
    let (held, ended) = mpsc::channel();
    let thread = |name: &str| thread::Builder::new().name(name.to_owned());
    if let Some(stream) = agent.stdout.take() {
        let held = held.clone();
        thread("torchrun output").spawn(move || {
            lines(stream, said);
            drop(held);
        })?;
    }
    if let Some(stream) = agent.stderr.take() {
        let tail = tail.clone();
        thread("torchrun errors").spawn(move || {
            tail.follow(stream);
            drop(held);
        })?;
    }
    Ok(ended)
}

/// Calls `said` with each line of a stream; longer ones come in parts.
fn lines(stream: impl Read, mut said: impl FnMut(&str)) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(1..) = stream.by_ref().take(LINE).read_until(b'\n', &mut line) {
        said(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
}
