//! A poll tick that cannot sleep through its own alarm.

use apalis::prelude::{PollSnapshot, PollStrategy};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep};

/// Looks into the queue at an even pace, for what notifications do not tell: delayed tickets, and notifications lost with
/// a connection. apalis' own `poll_with_interval` re-arms its timer without polling it, so that nothing wakes it again.
#[derive(Debug)]
pub struct Tick {
    every: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Tick {
    /// A tick every `every`.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            alarm: Box::pin(sleep(every)),
        }
    }
}

impl PollStrategy for Tick {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut rang = false;
        // Polling again after the reset is what arms the waker.
        while self.alarm.as_mut().poll(cx).is_ready() {
            rang = true;
            let next = Instant::now() + self.every;
            self.alarm.as_mut().reset(next);
        }
        if rang { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
