//! Signals to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

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
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
