//! What a task may still use, over all its processes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::limits::SLOWEST;
use super::report::Ending;

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

/// The allowance of the current task, and how its last process ended. Shared by the zygotes of a slot.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    left: Allowance,
    last: Option<Ending>,
}

impl Default for Budget {
    fn default() -> Self {
        let account = Account {
            left: Allowance::UNLIMITED,
            last: None,
        };
        Self(Arc::new(Mutex::new(account)))
    }
}

impl Budget {
    /// Begins a task with this allowance.
    pub(crate) fn set(&self, allowance: Allowance) {
        *self.lock() = Account {
            left: allowance,
            last: None,
        };
    }

    /// Ends the task.
    pub(crate) fn lift(&self) {
        self.set(Allowance::UNLIMITED);
    }

    pub(super) fn left(&self) -> Allowance {
        self.lock().left
    }

    /// Whether the task's last process used up the CPU time of a call.
    pub(crate) fn ended_in_work(&self) -> bool {
        self.lock().last == Some(Ending::CpuTime)
    }

    /// Counts a process that used `cpu`, lasted `elapsed` and ended so.
    pub(super) fn spend(&self, cpu: Duration, elapsed: Duration, ending: Ending) {
        let mut account = self.lock();
        account.last = Some(ending);
        let left = &mut account.left;
        left.cpu = left.cpu.saturating_sub(cpu);
        left.waiting = left
            .waiting
            .saturating_sub(elapsed.saturating_sub(cpu.saturating_mul(SLOWEST)));
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
