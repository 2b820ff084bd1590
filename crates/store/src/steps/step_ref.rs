//! A step of a run.

use lyceum_core::id::ExecutionId;

/// The step of a run that records belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRef {
    /// The run.
    pub(crate) run: ExecutionId,
    /// The step.
    pub(crate) step: u32,
}

impl StepRef {
    /// The step, as Postgres takes it.
    pub(crate) fn number(self) -> i32 {
        self.step.cast_signed()
    }
}
