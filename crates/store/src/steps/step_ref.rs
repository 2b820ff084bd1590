//! A step of a run.

use lyceum_core::id::ExecutionId;

/// The run and step of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRef {
    pub(crate) run: ExecutionId,
    pub(crate) step: u32,
}

impl StepRef {
    /// The step as Postgres' integer.
    pub(crate) fn number(self) -> i32 {
        self.step.cast_signed()
    }
}
