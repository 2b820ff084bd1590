//! Resource limits of programs.

use std::time::Duration;

use lyceum_core::verify::Check;

use super::Allowance;

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
        Self {
            memory: self.memory.saturating_mul(TESTS_MEMORY),
            cpu: self.cpu.saturating_mul(TESTS_CPU),
            ..self
        }
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
        Allowance {
            cpu: limits.cpu.saturating_mul(calls),
            waiting: limits.wall.saturating_mul(calls) / CALLS,
        }
    }

    /// Limits with more time, for a process that is trusted to end or waits for one with these limits.
    pub(crate) fn patient(self) -> Self {
        Self {
            cpu: self.cpu.saturating_mul(4),
            wall: self.longest().saturating_mul(4),
            ..self
        }
    }

    /// The kernel's own limit on the CPU time of a process that answers so many calls, in case the zygote is not scheduled.
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
        Self {
            cpu: Duration::from_secs(5),
            wall: Duration::from_mins(1),
            memory: 512 << 20,
        }
    }
}
