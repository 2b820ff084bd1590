//! From a task to a verdict.

mod mathematics;
mod propose;
mod solve;
mod tests;

use std::time::Instant;

use lyceum_core::verify::{Check, Status, Task, Verdict};

use crate::execution::Failed;
use crate::gold::GoldCache;
use crate::sandbox::SandboxError;
use crate::slot::Slot;
use crate::value::Comparison;

/// What judging one task may use.
pub(crate) struct Bench<'a> {
    pub(crate) slot: &'a mut Slot,
    pub(crate) gold: &'a GoldCache,
    pub(crate) comparison: Comparison,
}

impl Bench<'_> {
    /// Judges a task. A failure of the sandbox itself is tried once more with new zygotes.
    pub(crate) fn judge(&mut self, task: &Task) -> Verdict {
        let start = Instant::now();
        let mut result = self.verdict(task);
        if result.is_err() {
            self.slot.reset();
            result = self.verdict(task);
        }
        let mut verdict = result.unwrap_or_else(|error| {
            self.slot.reset();
            refused(
                &task.check,
                Failed::new(Status::Error, format!("the sandbox failed twice: {error}")),
            )
        });
        verdict.id = Some(task.id.clone());
        verdict.millis = (start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        verdict
    }

    fn verdict(&mut self, task: &Task) -> Result<Verdict, SandboxError> {
        match &task.check {
            Check::Propose(proposal) => self.propose(proposal),
            Check::Solve(solution) => self.solve(solution),
            Check::Tests(tests) => self.tests(&task.id, tests),
            Check::Math(pair) => self.mathematics(pair),
        }
    }
}

/// A verdict against the asker, with the fields of its kind.
pub(crate) fn refused(check: &Check, failed: Failed) -> Verdict {
    let verdict = Verdict::bare(None, failed.status, failed.reason);
    match check {
        Check::Propose(_) => Verdict {
            valid: Some(false),
            ..verdict
        },
        _ => Verdict {
            correct: Some(false),
            ..verdict
        },
    }
}

/// A verdict that an answer is wrong, or that it could not be judged.
fn incorrect(failed: Failed) -> Verdict {
    Verdict {
        correct: Some(false),
        ..Verdict::bare(None, failed.status, failed.reason)
    }
}
