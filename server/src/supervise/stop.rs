//! Being told to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for Ctrl-C and SIGTERM.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Begins to listen; from here on the signals end nothing by themselves.
    ///
    /// # Errors
    /// A system that does not hand its signals out.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next of them.
    pub async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
