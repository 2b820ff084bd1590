//! What a task may still use, over all its processes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::limits::SLOWEST;

/// CPU time, and time in which a process waited rather than worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) cpu: Duration,
    pub(crate) waiting: Duration,
}

impl Allowance {
    /// For processes that are trusted to end, and between tasks.
    pub(super) const UNLIMITED: Self = Self {
        cpu: Duration::from_hours(24 * 365),
        waiting: Duration::from_hours(24 * 365),
    };
}

/// The allowance of the current task. Shared by the zygotes of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Mutex<Allowance>>);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Allowance::UNLIMITED)))
    }
}

impl Budget {
    /// Begins a task with this allowance.
    pub(crate) fn set(&self, allowance: Allowance) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = allowance;
    }

    /// Ends the task.
    pub(crate) fn lift(&self) {
        self.set(Allowance::UNLIMITED);
    }

    pub(super) fn left(&self) -> Allowance {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a process that used `cpu` and lasted `elapsed`.
    pub(super) fn spend(&self, cpu: Duration, elapsed: Duration) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.cpu = left.cpu.saturating_sub(cpu);
        left.waiting = left
            .waiting
            .saturating_sub(elapsed.saturating_sub(cpu.saturating_mul(SLOWEST)));
    }
}
