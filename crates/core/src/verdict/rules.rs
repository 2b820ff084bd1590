//! The rules: which findings evidence comes to, and in what order.

use super::{Evidence, Finding, HeldOut, LostSide, Progress, Readings, Sign, Signal};

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
pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
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
        is_so(early, trend.late).then_some(Finding::Collapsing {
            sign,
            early: Some(early),
            late: trend.late,
        })
    };
    shown(Sign::Format, Signal::Format, &|early, late| {
        late < FORMAT && early - late >= FORMAT_FALL
    })
    .or_else(|| {
        shown(Sign::Entropy, Signal::Entropy, &|early, late| {
            late < ENTROPY && late <= ENTROPY_LEFT * early
        })
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
