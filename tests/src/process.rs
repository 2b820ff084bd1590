//! A process of a test that can be killed, frozen and stopped.

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A process that is killed with its owner.
pub struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        // Output is inherited: libtest shows it for failed tests.
        let program = Path::new(command.get_program()).display().to_string();
        let child = command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start {program}"))?;
        Ok(Self(child))
    }

    /// `kill -9`.
    pub fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Stops it (SIGSTOP).
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    /// Continues it (SIGCONT).
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(self.0.id().cast_signed());
        kill(pid, signal).with_context(|| format!("cannot send {signal} to the process"))
    }

    /// Sends SIGTERM and waits for a clean exit.
    pub fn stop(mut self) -> Result<()> {
        self.signal(Signal::SIGTERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "the process ended with {status}");
        Ok(())
    }

    /// Waits until it has ended by itself.
    pub fn ended(mut self) -> Result<ExitStatus> {
        Ok(self.0.wait()?)
    }

    /// Whether it is still running.
    pub fn is_alive(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_none())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
