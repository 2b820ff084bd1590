//! What a verdict can say, and how it says it.

use serde::Serialize;

use super::{Against, Comparison};

/// Characters of a failure's cause that a sentence has room for.
const CAUSE: usize = 200;

/// A sign of collapse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// Answers lose the required form.
    Format,
    /// The policy's entropy vanishes.
    Entropy,
    /// Proposals repeat others, or what was shown.
    Duplicates,
}

/// The side that has lost contact with the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LostSide {
    /// Proposals are not valid.
    Invalid,
    /// Solvers solve nothing.
    Solvers,
    /// Solvers solve everything.
    Proposers,
    /// Problems are too easy or too hard.
    Band,
}

/// Something that can be said of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Finding {
    Failed {
        /// Why, if that is known.
        cause: Option<String>,
    },
    /// Nothing happens, though it should.
    Stalled,
    /// A policy is breaking down.
    Collapsing {
        /// By what it shows.
        sign: Sign,
        /// Its mean over the first steps.
        early: Option<f64>,
        /// Its mean over the last steps.
        late: f64,
    },
    /// One side no longer gives the other anything to learn from.
    LostContact {
        side: LostSide,
        /// The share that shows it, over the last steps.
        late: f64,
    },
    /// Nearly no problem taught anything.
    NoSignal {
        /// The share that taught nothing, over the last steps.
        share: f64,
    },
    /// Held-out accuracy is above that of the base.
    Learning(Comparison),
    /// Held-out accuracy is below that of the base.
    Worse(Comparison),
    /// Held-out accuracy cannot be told from that of the base.
    NotDistinguishable(Comparison),
    /// Held-out accuracy against that at the end of the warm-up, whose steps reward only form. Never the first finding.
    SinceWarmUp(Comparison),
    /// There is no held-out accuracy to compare.
    Unmeasured {
        /// Whether a result is to come.
        awaited: bool,
    },
    /// The share of problems that taught nothing, where it is no cause for alarm. Never the first finding.
    Wasted {
        /// That share, over the last steps.
        share: f64,
    },
}

impl Finding {
    /// Its name in two or three words.
    pub fn label(&self, is_open: bool) -> &'static str {
        match (self, is_open) {
            (Self::Failed { .. }, _) => "Failed",
            (Self::Stalled, _) => "Stalled",
            (Self::Collapsing { .. }, true) => "Collapsing",
            (Self::Collapsing { .. }, false) => "Collapsed",
            (Self::LostContact { .. }, _) => "Lost contact",
            (Self::NoSignal { .. }, _) => "No signal",
            (Self::Learning(_), true) => "Learning",
            (Self::Learning(_), false) => "Learned",
            (Self::Worse(_), _) => "Worse than before",
            (Self::NotDistinguishable(_), true) => "Not distinguishable yet",
            (Self::NotDistinguishable(_), false) => "Not distinguishable",
            (Self::SinceWarmUp(_), _) => "Since its warm-up",
            (Self::Unmeasured { awaited: true }, _) => "Not measured yet",
            (Self::Unmeasured { awaited: false }, _) => "Not measured",
            (Self::Wasted { .. }, _) => "Share without signal",
        }
    }

    /// What the rows say, without the label; it begins with a small letter and has no full stop.
    pub fn detail(&self) -> String {
        match self {
            Self::Failed { cause: None } => "the cause is unknown".to_owned(),
            Self::Failed { cause: Some(cause) } => shortened(cause),
            Self::Stalled => "nothing has happened for more than a minute".to_owned(),
            Self::Collapsing { sign, early, late } => collapse(*sign, *early, *late),
            Self::LostContact { side, late } => lost_contact(*side, *late),
            Self::NoSignal { share } | Self::Wasted { share } => {
                format!("{} of the last steps' problems taught nothing", percent(*share))
            }
            Self::Learning(comparison)
            | Self::Worse(comparison)
            | Self::NotDistinguishable(comparison)
            | Self::SinceWarmUp(comparison) => compared(comparison),
            Self::Unmeasured { awaited: true } => "the first result on held-out problems is still to come".to_owned(),
            Self::Unmeasured { awaited: false } => {
                "without results on held-out problems nobody can say whether it learns".to_owned()
            }
        }
    }

    /// It in a sentence. `is_open`: whether more steps may come.
    pub fn sentence(&self, is_open: bool) -> String {
        match self {
            Self::Wasted { .. } => format!("{}.", self.detail()),
            _ => format!("{}: {}.", self.label(is_open), self.detail()),
        }
    }
}

fn collapse(sign: Sign, early: Option<f64>, late: f64) -> String {
    let against =
        |shown: &dyn Fn(f64) -> String| early.map_or_else(String::new, |early| format!(", {} at first", shown(early)));
    match sign {
        Sign::Format => {
            let first = against(&percent);
            format!("{} of the answers have the required form{first}", percent(late))
        }
        Sign::Entropy => {
            let first = against(&|early| format!("{early:.3}"));
            format!("the entropy of the policy is {late:.3} nats{first}")
        }
        Sign::Duplicates => {
            let first = against(&percent);
            format!("the measure of repeated proposals is {}{first}", percent(late))
        }
    }
}

fn lost_contact(side: LostSide, late: f64) -> String {
    let share = percent(late);
    match side {
        LostSide::Invalid => format!("{share} of the proposals are valid"),
        LostSide::Solvers => format!("{share} of the answers are right, so problems are too hard"),
        LostSide::Proposers => format!("{share} of the answers are right, so problems are too easy"),
        LostSide::Band => format!("{share} of the problems are neither too easy nor too hard"),
    }
}

fn compared(comparison: &Comparison) -> String {
    let Comparison { value, reference, difference, n, step, .. } = comparison;
    let of = match comparison.against {
        Against::Base => "of the base".to_owned(),
        Against::Step(first) => format!("after step {first}"),
    };
    format!(
        "held-out {:.1} % after step {step} against {:.1} % {of}, {} points ({} to {}, n = {n})",
        100.0 * value,
        100.0 * reference,
        signed(comparison.gain()),
        signed(difference.low),
        signed(difference.high),
    )
}

/// Points of per cent with a sign.
fn signed(share: f64) -> String {
    let points = 100.0 * share;
    // What rounds to zero has no sign.
    match points {
        0.05.. => format!("+{points:.1}"),
        ..=-0.05 => format!("−{:.1}", -points),
        _ => "0.0".to_owned(),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The first line of a cause, without a full stop, cut where a sentence has no more room.
fn shortened(cause: &str) -> String {
    let line = cause.lines().next().unwrap_or_default().trim();
    let mut shown: String = line.chars().take(CAUSE).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown.trim_end_matches('.').to_owned()
}
