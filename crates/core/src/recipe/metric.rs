//! Metrics: what a recipe records in every step, and how it is charted.
//!
//! A recipe lists its metrics as measures of its own type of outcome; [`values`] computes a row of them.

mod answers;
mod cost;
mod learning;

pub(crate) use answers::{
    Answered, HasAnswers, format_rate, mean_entropy, mean_reward, no_signal_share, of_prompts, pass_rate,
    response_length,
};
pub(crate) use cost::{
    Costs, GRADE_MEASURE, HasCosts, MEASURE, TOKENS, check_seconds, critique_seconds, diversity_seconds,
    evolve_seconds, grade_seconds, halvings, measure_seconds, plan_seconds, prompt_tokens, propose_seconds,
    solve_seconds, update_seconds,
};
pub(crate) use learning::{HasUpdates, UPDATES, learned_tokens, policy, updates};

use super::Side;

/// A metric, recorded for the run and, where meaningful, for each member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its name in rows, in the API and on pages.
    pub name: &'static str,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// Its meaning, in one sentence.
    pub summary: &'static str,
    /// The charts that show it.
    pub charts: &'static [&'static Chart],
    /// The side it is about, if it is about one only; it is drawn in that side's colour beside others.
    pub side: Option<Side>,
    /// Where it is shown besides its charts.
    pub highlights: &'static [Highlight],
}

/// A place that shows a few metrics only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Highlight {
    /// The line about a step in the log and in `lyceum run watch`.
    StepLine,
    /// Comparisons of runs that name no metrics.
    Comparison,
    /// The page about learnability: signs that problems no longer teach anything.
    Learnability,
    /// The page about diversity: how much the questions of an iteration differ, and what that costs.
    Diversity,
}

impl Metric {
    /// A metric known only by name.
    pub const fn bare(name: &'static str) -> Self {
        Self {
            name,
            unit: "",
            summary: "",
            charts: &[],
            side: None,
            highlights: &[],
        }
    }
}

/// A chart of metrics over steps. Charts are shown in the order in which a recipe's metrics first name them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart {
    pub title: &'static str,
    /// How to read it.
    pub about: &'static str,
    /// Whether its metrics are parts of a whole, drawn together and only for the run, rather than one metric of each
    /// member.
    pub has_parts: bool,
    /// The group it belongs to.
    pub group: &'static ChartGroup,
}

/// Charts about one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartGroup {
    /// The subject.
    pub title: &'static str,
    /// The side whose members' curves are drawn, if there are any; `None` for all members.
    pub side: Option<Side>,
}

/// How well problems are solved.
pub const SOLVING: ChartGroup = ChartGroup {
    title: "Solving",
    side: Some(Side::Solves),
};
/// The quality of proposals.
pub const PROPOSING: ChartGroup = ChartGroup {
    title: "Proposing",
    side: Some(Side::Proposes),
};
/// The quality of plans.
pub const PLANNING: ChartGroup = ChartGroup {
    title: "Planning",
    side: Some(Side::Plans),
};
/// How proposals and plans are judged.
pub const JUDGING: ChartGroup = ChartGroup {
    title: "Judging",
    side: Some(Side::Judges),
};
/// How adapters learn.
pub const LEARNING: ChartGroup = ChartGroup {
    title: "Learning",
    side: None,
};
/// The cost of a step.
pub const COST: ChartGroup = ChartGroup {
    title: "Cost",
    side: None,
};

/// A chart of one metric, also recorded per member.
pub const fn chart(group: &'static ChartGroup, title: &'static str, about: &'static str) -> Chart {
    Chart {
        title,
        about,
        has_parts: false,
        group,
    }
}

/// A chart of the parts of a whole.
pub const fn parts(group: &'static ChartGroup, title: &'static str, about: &'static str) -> Chart {
    Chart {
        title,
        about,
        has_parts: true,
        group,
    }
}

/// A metric and the function that computes it from a step's outcome; NaN if there is no value.
#[derive(Clone, Copy, Debug)]
pub struct Measure<T> {
    pub metric: Metric,
    /// Computes it.
    pub value: fn(&T) -> f64,
}

/// A measure of one side only.
pub const fn of_side<T>(side: Side, mut measure: Measure<T>) -> Measure<T> {
    measure.metric.side = Some(side);
    measure
}

/// A measure that these places show.
pub const fn highlighted<T>(places: &'static [Highlight], mut measure: Measure<T>) -> Measure<T> {
    measure.metric.highlights = places;
    measure
}

/// Builds a measure.
pub const fn measure<T>(
    name: &'static str,
    unit: &'static str,
    summary: &'static str,
    charts: &'static [&'static Chart],
    value: fn(&T) -> f64,
) -> Measure<T> {
    Measure {
        metric: Metric {
            name,
            unit,
            summary,
            charts,
            side: None,
            highlights: &[],
        },
        value,
    }
}

/// The values of `measures`, in order.
pub fn values<T>(measures: &[Measure<T>], of: &T) -> Vec<f64> {
    measures.iter().map(|measure| (measure.value)(of)).collect()
}

/// The mean; NaN if there are no values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// 1 for true, so that the mean is a share.
pub fn share(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}
