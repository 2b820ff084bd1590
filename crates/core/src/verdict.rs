//! The verdict on a run: whether it learns, in one sentence, by rules over what its rows say. `docs/VERDICT.md` lists
//! the rules with their reasons; the thresholds are in [`rules`].

mod comparison;
mod finding;
pub mod rules;
mod signal;
#[cfg(test)]
mod tests;

pub use comparison::{Against, Comparison};
pub use finding::{Finding, LostSide, Sign};
pub use signal::{Readings, SPAN, Signal, Trend};

use serde::Serialize;

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its items are being worked on.
    Running,
    /// Nothing has happened for some time, though it should.
    Stalled,
    /// Somebody paused it.
    Paused,
    /// All its steps have ended.
    Completed,
    /// It failed, perhaps with a known cause.
    Failed(Option<String>),
    /// It was cancelled.
    Cancelled,
}

impl Progress {
    /// Whether more steps may come.
    fn is_open(&self) -> bool {
        matches!(self, Self::Running | Self::Stalled | Self::Paused)
    }
}

/// What is known of accuracy on problems that nobody learns from.
#[derive(Clone, Debug, PartialEq)]
pub enum HeldOut {
    /// Nothing was measured, and nothing will be.
    Unmeasured,
    /// A measurement is scheduled or running, and there is nothing yet to compare.
    Awaited,
    /// The last measurement against the base.
    Measured(Comparison),
}

/// All that a verdict is computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What the run is doing.
    pub progress: Progress,
    /// Its metrics, early and late.
    pub readings: Readings,
    /// Its accuracy on held-out problems.
    pub held_out: HeldOut,
}

/// What can be said of a run: its findings, the most urgent first. The first one is the run's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// At least one.
    findings: Vec<Finding>,
    /// Whether more steps may come.
    is_open: bool,
}

impl Verdict {
    /// The verdict on `evidence`.
    pub fn of(evidence: &Evidence) -> Self {
        Self {
            findings: rules::findings(evidence),
            is_open: evidence.progress.is_open(),
        }
    }

    /// The findings, the most urgent first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The state that the findings come to.
    pub fn headline(&self) -> &Finding {
        &self.findings[0]
    }

    /// The findings in words, each a sentence.
    pub fn sentences(&self) -> Vec<String> {
        self.findings
            .iter()
            .map(|finding| finding.sentence(self.is_open))
            .collect()
    }
}
