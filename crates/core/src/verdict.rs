//! The verdict on a run: whether it learns, in one sentence, by rules over what its rows say. `docs/STATISTICS.md` lists
//! the rules with their reasons; the thresholds are here.

mod evidence;
mod finding;
#[cfg(test)]
mod tests;

pub use self::evidence::{Against, Comparison, Readings, SPAN, Signal, Trend};
pub use self::finding::{Finding, LostSide, Sign};

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
    /// The same against its own at the end of its warm-up, if it had one and was measured there and later.
    pub since_warm_up: Option<Comparison>,
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
        Self { findings: findings(evidence), is_open: evidence.progress.is_open() }
    }

    /// The findings, the most urgent first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The state that results from the findings.
    pub fn headline(&self) -> &Finding {
        &self.findings[0]
    }

    /// The findings in words, each a sentence.
    pub fn sentences(&self) -> Vec<String> {
        self.findings.iter().map(|finding| finding.sentence(self.is_open)).collect()
    }
}

// The rules: which findings result from evidence, and in what order.

/// From this share of problems that teach nothing on, there is no signal.
pub const NO_SIGNAL: f64 = 0.9;
/// Answers that lose this share of their form are breaking down.
pub const FORMAT_FALL: f64 = 0.2;
/// Below this share of answers in form, a run that had it has lost it.
pub const FORMAT: f64 = 0.8;
/// A policy of less entropy (in nats) than this has one answer to everything.
pub const ENTROPY: f64 = 0.05;
/// Entropy has fallen if this share of it is left.
pub const ENTROPY_LEFT: f64 = 0.25;
/// From this value of a recipe's measure of repeated proposals on, a proposer has found a template.
pub const DUPLICATES: f64 = 0.5;
/// By how much that measure has risen since the first steps.
pub const DUPLICATES_RISE: f64 = 0.2;
/// A share that is nearly none, and its complement nearly all.
pub const NEARLY_NONE: f64 = 0.05;

/// The findings of `evidence`, the most urgent first.
fn findings(evidence: &Evidence) -> Vec<Finding> {
    let readings = &evidence.readings;
    let mut findings = Vec::new();
    match &evidence.progress {
        Progress::Failed(cause) => findings.push(Finding::Failed { cause: cause.clone() }),
        Progress::Stalled => findings.push(Finding::Stalled),
        Progress::Running | Progress::Paused | Progress::Completed | Progress::Cancelled => {}
    }
    findings.extend(collapse(readings));
    findings.extend(lost_contact(readings));
    let wasted = readings.of(Signal::NoSignal).map(|trend| trend.late);
    let no_signal = wasted.filter(|share| *share >= NO_SIGNAL);
    findings.extend(no_signal.map(|share| Finding::NoSignal { share }));
    findings.push(held_out(evidence));
    findings.extend(evidence.since_warm_up.map(Finding::SinceWarmUp));
    if no_signal.is_none() {
        findings.extend(wasted.map(|share| Finding::Wasted { share }));
    }
    findings
}

/// The first sign of collapse.
fn collapse(readings: &Readings) -> Option<Finding> {
    let shown = |sign, signal, is_so: &dyn Fn(f64, f64) -> bool| {
        let trend = readings.of(signal)?;
        let early = trend.early?;
        is_so(early, trend.late).then_some(Finding::Collapsing { sign, early: Some(early), late: trend.late })
    };
    shown(Sign::Format, Signal::Format, &|early, late| late < FORMAT && early - late >= FORMAT_FALL)
        .or_else(|| {
            shown(Sign::Entropy, Signal::Entropy, &|early, late| late < ENTROPY && late <= ENTROPY_LEFT * early)
        })
        .or_else(|| {
            shown(Sign::Duplicates, Signal::Duplicates, &|early, late| {
                late >= DUPLICATES && late - early >= DUPLICATES_RISE
            })
        })
}

/// The side that has lost contact, if one has.
fn lost_contact(readings: &Readings) -> Option<Finding> {
    let late = |signal| readings.of(signal).map(|trend| trend.late);
    let lost = |side, late| Finding::LostContact { side, late };
    // Without valid proposals there are no attempts to speak of, so this comes first.
    if let Some(valid) = late(Signal::Valid).filter(|valid| *valid <= NEARLY_NONE) {
        return Some(lost(LostSide::Invalid, valid));
    }
    match late(Signal::Solved) {
        Some(solved) if solved <= NEARLY_NONE => return Some(lost(LostSide::Solvers, solved)),
        Some(solved) if solved >= 1.0 - NEARLY_NONE => return Some(lost(LostSide::Proposers, solved)),
        _ => {}
    }
    let in_band = late(Signal::InBand).filter(|share| *share <= NEARLY_NONE);
    in_band.map(|share| lost(LostSide::Band, share))
}

fn held_out(evidence: &Evidence) -> Finding {
    match evidence.held_out {
        HeldOut::Unmeasured => Finding::Unmeasured { awaited: false },
        HeldOut::Awaited => Finding::Unmeasured { awaited: true },
        HeldOut::Measured(comparison) if comparison.is_better() => Finding::Learning(comparison),
        HeldOut::Measured(comparison) if comparison.is_worse() => Finding::Worse(comparison),
        HeldOut::Measured(comparison) => Finding::NotDistinguishable(comparison),
    }
}
