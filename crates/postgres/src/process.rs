//! Keeps a child process running.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::sync::{mpsc, oneshot};

use crate::last_words::LastWords;

const SHORTEST_BACK_OFF: Duration = Duration::from_millis(100);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(5);
/// A process that lived this long is restarted without a growing pause.
const HEALTHY: Duration = Duration::from_secs(60);
/// Endings that wait to be read; later ones are dropped.
const ENDINGS: usize = 64;

/// How a process is named and stopped.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Its name in the log.
    pub name: &'static str,
    /// Signal for an orderly stop.
    pub stop: Signal,
    /// How long that may take.
    pub patience: Duration,
    /// Signal for an immediate stop.
    pub stop_now: Signal,
}

/// A child process that is restarted, with growing pauses, whenever it ends; stopped when dropped.
///
/// A dedicated thread starts it and waits for it, because [`stop_with_parent`] is bound to the spawning thread.
#[derive(Debug)]
pub struct KeptProcess {
    policy: Policy,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    endings: Option<mpsc::Receiver<Ending>>,
}

/// An end of the process that nobody asked for, or a failed attempt to start it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Its name in the log.
    pub name: &'static str,
    /// When it ended.
    pub at: SystemTime,
    /// How it ended, or why it cannot be started.
    pub cause: String,
    /// The end of what it wrote to standard error, if that is followed.
    pub last_words: String,
}

/// The reason a process is not kept running.
#[derive(Debug)]
pub enum StartError<E> {
    /// The first start failed.
    Failed(E),
    /// The thread could not be created, or ended by itself.
    Abandoned,
}

impl KeptProcess {
    /// Starts the process with `start` and waits until that has returned.
    ///
    /// `start` passes each process it spawns to the given function. If that returns false, the process has been told to
    /// stop, and `start` must not wait for it to become ready. `words` are what it says, if `start` has them followed.
    ///
    /// # Errors
    /// The first result of `start`, if it is an error. Later errors are logged, and `start` is tried again.
    pub async fn start<E, F>(policy: Policy, words: LastWords, start: F) -> Result<Self, StartError<E>>
    where
        E: std::fmt::Display + Send + 'static,
        F: FnMut(&mut dyn FnMut(&Child) -> bool) -> Result<Child, E> + Send + 'static,
    {
        let shared = Arc::new(Shared::default());
        let (started, answer) = oneshot::channel();
        let (told, endings) = mpsc::channel(ENDINGS);
        let thread = std::thread::Builder::new().name(policy.name.to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let report = |cause: String| {
                    let ending = Ending { name: policy.name, at: SystemTime::now(), cause, last_words: words.take() };
                    // Nobody needs to read them.
                    let _ = told.try_send(ending);
                };
                keep(policy, &shared, start, started, report);
                shared.end();
            }
        });
        let thread = thread.map_err(|_| StartError::Abandoned)?;
        answer.await.map_err(|_| StartError::Abandoned)?.map_err(StartError::Failed)?;
        Ok(Self { policy, shared, thread: Some(thread), endings: Some(endings) })
    }

    /// Its future endings; for the first caller only.
    pub fn endings(&mut self) -> Option<mpsc::Receiver<Ending>> {
        self.endings.take()
    }

    /// Its process id; `None` while it is being restarted.
    pub fn pid(&self) -> Option<u32> {
        self.shared.lock().process.map(|pid| pid.as_raw().cast_unsigned())
    }

    /// Stops the process and waits for it to end.
    pub async fn stop(mut self) {
        let end = self.begin_stop();
        let _ = tokio::task::spawn_blocking(end).await;
    }

    fn begin_stop(&mut self) -> impl FnOnce() + Send + 'static {
        self.shared.stop(self.policy.stop);
        let (policy, shared, thread) = (self.policy, Arc::clone(&self.shared), self.thread.take());
        move || {
            let Some(thread) = thread else { return };
            if !shared.wait_for_end(policy.patience) {
                tracing::warn!(
                    "{} did not stop within {} s and is being stopped immediately",
                    policy.name,
                    policy.patience.as_secs()
                );
                shared.stop(policy.stop_now);
            }
            let _ = thread.join();
        }
    }
}

impl Drop for KeptProcess {
    fn drop(&mut self) {
        self.begin_stop()();
    }
}

/// Keeps Ctrl-C in the terminal from reaching the command, which gets an orderly stop instead.
pub fn own_session(command: &mut Command) {
    // SAFETY: setsid is async-signal-safe and touches nothing of the parent's memory.
    unsafe { command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into)) };
}

/// Makes the command receive `signal` when the thread that spawned it (and so this process) ends for any reason.
pub fn stop_with_parent(command: &mut Command, signal: Signal) {
    // SAFETY: prctl is async-signal-safe and touches nothing of the parent's memory.
    unsafe { command.pre_exec(move || nix::sys::prctl::set_pdeathsig(signal).map_err(Into::into)) };
}

fn keep<E: std::fmt::Display>(
    policy: Policy,
    shared: &Shared,
    mut start: impl FnMut(&mut dyn FnMut(&Child) -> bool) -> Result<Child, E>,
    started: oneshot::Sender<Result<(), E>>,
    report: impl Fn(String),
) {
    let name = policy.name;
    let mut started = Some(started);
    let mut back_off = SHORTEST_BACK_OFF;
    loop {
        let since = Instant::now();
        match start(&mut |child| shared.watch(child)) {
            Ok(child) => {
                if let Some(started) = started.take() {
                    let _ = started.send(Ok(()));
                }
                let status = shared.wait(child);
                if shared.is_stopping() {
                    return;
                }
                let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                tracing::warn!("{name} ended unexpectedly ({status}) and is being restarted");
                report(status);
            }
            Err(error) => {
                shared.forget();
                if let Some(started) = started.take() {
                    let _ = started.send(Err(error));
                    return;
                }
                if !shared.is_stopping() {
                    tracing::error!("{name} cannot be restarted, retrying in {back_off:?}: {error}");
                    report(format!("it cannot be started again: {error}"));
                }
            }
        }
        if since.elapsed() > HEALTHY {
            back_off = SHORTEST_BACK_OFF;
        }
        if !shared.pause(back_off) {
            return;
        }
        back_off = (back_off * 2).min(LONGEST_BACK_OFF);
    }
}

/// State shared by the thread and the owner.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The stop signal, once the process is to stop.
    stopping: Option<Signal>,
    ended: bool,
    process: Option<Pid>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a new process. If it is already to stop, signals it at once and returns false.
    fn watch(&self, child: &Child) -> bool {
        let pid = Pid::from_raw(child.id().cast_signed());
        let mut state = self.lock();
        state.process = Some(pid);
        if let Some(signal) = state.stopping {
            let _ = kill(pid, signal);
        }
        state.stopping.is_none()
    }

    fn forget(&self) {
        self.lock().process = None;
    }

    /// Holds the lock under which a process id is forgotten before the process is reaped, so it is never
    /// another's.
    fn stop(&self, signal: Signal) {
        let mut state = self.lock();
        state.stopping = Some(signal);
        if let Some(pid) = state.process {
            let _ = kill(pid, signal);
        }
        self.changed.notify_all();
    }

    fn is_stopping(&self) -> bool {
        self.lock().stopping.is_some()
    }

    /// Sleeps for `delay`; returns false if a stop interrupted it.
    fn pause(&self, delay: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), delay, |state| state.stopping.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.stopping.is_none()
    }

    fn wait_for_end(&self, limit: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), limit, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// Waits for the end of `child` without reaping it, forgets its id, then reaps it.
    fn wait(&self, mut child: Child) -> std::io::Result<ExitStatus> {
        let pid = Pid::from_raw(child.id().cast_signed());
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
        let mut state = self.lock();
        state.process = None;
        child.wait()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;
    use std::sync::mpsc;

    use super::*;

    const POLICY: Policy =
        Policy { name: "a shell", stop: Signal::SIGTERM, patience: Duration::from_secs(60), stop_now: Signal::SIGKILL };

    #[tokio::test]
    async fn every_ending_is_told_with_its_cause_and_the_last_words() {
        let words = LastWords::default();
        let (heard, mut starts) = (words.clone(), 0);
        let start = move |watch: &mut dyn FnMut(&Child) -> bool| {
            starts += 1;
            let script = match starts {
                1 => "echo out of luck >&2; exit 3",
                2 => "kill -KILL $$",
                3 => return Err(std::io::Error::other("the program is gone")),
                _ => "exec sleep 600",
            };
            let mut child = Command::new("sh").args(["-c", script]).stderr(Stdio::piped()).spawn()?;
            heard.follow(child.stderr.take().unwrap())?;
            watch(&child);
            Ok(child)
        };
        let mut kept = KeptProcess::start(POLICY, words, start).await.unwrap();
        let mut endings = kept.endings().unwrap();
        assert!(kept.endings().is_none());
        for (cause, last_words) in [
            ("exit status: 3", "out of luck"),
            ("signal: 9 (SIGKILL)", ""),
            ("it cannot be started again: the program is gone", ""),
        ] {
            let ending = endings.recv().await.unwrap();
            assert_eq!((&*ending.cause, &*ending.last_words), (cause, last_words));
            assert_eq!(ending.name, POLICY.name);
        }
        kept.stop().await;
        assert_eq!(endings.recv().await, None, "a stop is not a crash");
    }

    #[tokio::test]
    async fn a_stop_that_comes_between_spawning_and_watching_is_told_in_order() {
        let (spawned, was_spawned) = mpsc::channel();
        let (stopped, was_stopped) = mpsc::channel();
        let mut starts = 0;
        let start = move |watch: &mut dyn FnMut(&Child) -> bool| {
            starts += 1;
            if starts == 1 {
                let child = Command::new("true").spawn()?;
                watch(&child);
                return Ok(child);
            }
            let script = "trap 'echo drained; exit' TERM; echo ready; while :; do sleep 0.01; done";
            let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn()?;
            let mut output = BufReader::new(child.stdout.take().unwrap());
            output.read_line(&mut String::new())?;
            spawned.send(output).unwrap();
            was_stopped.recv().unwrap();
            assert!(!watch(&child));
            std::io::Result::Ok(child)
        };
        let mut kept = KeptProcess::start(POLICY, LastWords::default(), start).await.unwrap();
        let mut output = was_spawned.recv().unwrap();
        let end = kept.begin_stop();
        stopped.send(()).unwrap();
        end();
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        assert_eq!(said, "drained\n");
    }
}
