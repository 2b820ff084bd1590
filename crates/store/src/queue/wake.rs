//! When a reader polls the queue.

use apalis::prelude::{PollSnapshot, PollStrategy};
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep};

use super::Announcements;

/// Polls whenever a ticket is announced, and at a fixed interval in case announcements are lost. apalis' own
/// `poll_with_interval` re-arms its timer without polling it, so nothing wakes it again.
pub(super) struct Wake {
    announcements: Announcements,
    every: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Wake {
    pub(super) fn new(announcements: Announcements, every: Duration) -> Self {
        Self {
            announcements,
            every,
            alarm: Box::pin(sleep(every)),
        }
    }
}

impl PollStrategy for Wake {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut is_due = self.announcements.poll(cx);
        // Polling again after the reset arms the waker.
        while self.alarm.as_mut().poll(cx).is_ready() {
            is_due = true;
            let next = Instant::now() + self.every;
            self.alarm.as_mut().reset(next);
        }
        if is_due { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
