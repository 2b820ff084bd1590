//! What a program may use.

use std::time::Duration;

/// Limits of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time for each call, so that a busy machine changes no verdict.
    pub cpu: Duration,
    /// Time on the clock for each call: the backstop for what waits without working. A program that works has more: each second
    /// of CPU time that it has used puts the end off by 32.
    pub wall: Duration,
    /// Address space in bytes, the interpreter's own 30 MB included.
    pub memory: u64,
}

/// How many times slower than alone a program may get on, because the machine is busy, before its time on the clock counts
/// against it: each second of CPU time that it has used puts the backstop off by this many. So load does not judge a
/// program, and one that waits is ended all the same, if it works meanwhile after this many times its CPU time at the latest.
pub(crate) const SLOWEST: u32 = 32;

/// How many times the memory of a proposal a program under test may take.
const TESTS_MEMORY: u64 = 4;

/// How many times the CPU time.
const TESTS_CPU: u32 = 2;

impl Limits {
    /// The same with more memory and time, for programs under test: the inputs of benchmarks are larger than those of proposals.
    pub(crate) fn for_tests(self) -> Self {
        Self {
            memory: self.memory.saturating_mul(TESTS_MEMORY),
            cpu: self.cpu.saturating_mul(TESTS_CPU),
            ..self
        }
    }

    /// The same with more time, for what is trusted to end, or waits for what has these limits.
    pub(crate) fn patient(self) -> Self {
        Self {
            cpu: self.cpu.saturating_mul(4),
            wall: self.longest().saturating_mul(4),
            ..self
        }
    }

    /// What a call can take on the clock at the most.
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
