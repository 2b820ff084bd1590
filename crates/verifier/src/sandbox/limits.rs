//! Resource limits of programs, and what a task may still use, over all its processes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lyceum_core::verify::Check;

use super::streams::Ending;

/// Limits of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time per call, so that load on the machine does not change a verdict.
    pub cpu: Duration,
    /// Wall-clock time per call: a backstop for programs that wait without working. Each second of CPU time used
    /// extends it by 32 s.
    pub wall: Duration,
    /// Address space in bytes, including the interpreter's own 30 MB.
    pub memory: u64,
}

/// Slowdown on a busy machine that does not count against a program: each second of CPU time it uses extends the
/// wall-clock limit by this many seconds. So load does not affect the verdict, and a program that waits is still ended,
/// at the latest after this many times its CPU time.
pub(crate) const SLOWEST: u32 = 32;

/// Calls at the full limit of CPU time that the budget of a task pays for, whatever their number.
const CALLS: u32 = 4;

/// The same for a question's answers, which are compared in pairs, and for programs under test, which have many inputs.
const CALLS_OF_CLUSTER: u32 = 12;
const CALLS_OF_TESTS: u32 = 30;

/// Memory of a program under test, as a multiple of a proposal's.
const TESTS_MEMORY: u64 = 4;

/// CPU time, likewise.
const TESTS_CPU: u32 = 2;

impl Limits {
    /// Limits with more memory and time, for programs under test: benchmark inputs are larger than those of proposals.
    pub(crate) fn for_tests(self) -> Self {
        Self { memory: self.memory.saturating_mul(TESTS_MEMORY), cpu: self.cpu.saturating_mul(TESTS_CPU), ..self }
    }

    /// What a task may use over all its inputs and runs. Each call has its own limit as well.
    pub(crate) fn allowance(self, check: &Check) -> Allowance {
        if let Check::Reward(reward) = check {
            // Its own time, and that of programs that it has executed, during which it waits.
            return Allowance {
                cpu: Duration::from_secs(reward.timeout.into()) + self.cpu.saturating_mul(CALLS),
                waiting: self.longest().saturating_mul(CALLS),
            };
        }
        let (limits, calls) = match check {
            Check::Tests(_) => (self.for_tests(), CALLS_OF_TESTS),
            Check::Cluster(_) => (self, CALLS_OF_CLUSTER),
            _ => (self, CALLS),
        };
        Allowance { cpu: limits.cpu.saturating_mul(calls), waiting: limits.wall.saturating_mul(calls) / CALLS }
    }

    /// Limits with more time, for a process that is trusted to end or waits for one with these limits.
    pub(crate) fn patient(self) -> Self {
        Self { cpu: self.cpu.saturating_mul(4), wall: self.longest().saturating_mul(4), ..self }
    }

    /// The kernel's own limit on the CPU time of a process that answers `calls` calls, in case the zygote is not scheduled.
    /// The program can read it, so it follows from the limits and not from what is left of the task's budget, which never
    /// pays for more calls than that of tests.
    pub(super) fn backup(self, calls: usize) -> Duration {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX).clamp(1, CALLS_OF_TESTS);
        self.cpu.saturating_mul(calls).saturating_add(Duration::from_secs(2))
    }

    /// Maximum wall-clock time of a call.
    pub(crate) fn longest(self) -> Duration {
        self.wall.saturating_add(self.cpu.saturating_mul(SLOWEST))
    }
}

impl Default for Limits {
    /// 5 s of CPU time, 60 s on the clock, 512 MiB.
    fn default() -> Self {
        Self { cpu: Duration::from_secs(5), wall: Duration::from_mins(1), memory: 512 << 20 }
    }
}

/// CPU time, and time in which a process waited rather than worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) cpu: Duration,
    pub(crate) waiting: Duration,
}

impl Allowance {
    /// For processes that are trusted to end, and between tasks.
    pub(super) const UNLIMITED: Self =
        Self { cpu: Duration::from_hours(24 * 365), waiting: Duration::from_hours(24 * 365) };
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
        let account = Account { left: Allowance::UNLIMITED, last: None };
        Self(Arc::new(Mutex::new(account)))
    }
}

impl Budget {
    /// Begins a task with this allowance.
    pub(crate) fn set(&self, allowance: Allowance) {
        *self.lock() = Account { left: allowance, last: None };
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
        left.waiting = left.waiting.saturating_sub(elapsed.saturating_sub(cpu.saturating_mul(SLOWEST)));
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
