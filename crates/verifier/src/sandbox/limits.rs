//! What a program may use.

use std::time::Duration;

/// Limits of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time for each call, so that a busy machine changes no verdict.
    pub cpu: Duration,
    /// Wall-clock time for each call: the backstop for what waits without working.
    pub wall: Duration,
    /// Address space in bytes, the interpreter's own 30 MB included.
    pub memory: u64,
}

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

    /// The same with more time, for what is trusted to end.
    pub(crate) fn patient(self) -> Self {
        Self {
            cpu: self.cpu.saturating_mul(4),
            wall: self.wall.saturating_mul(4),
            ..self
        }
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
