//! Metrics: what a recipe records of every step, and how it is drawn.

mod cost;
mod learning;

pub(crate) use cost::{
    Costs, HasCosts, TOKENS, check_seconds, evolve_seconds, grade_seconds, halvings, prompt_tokens, propose_seconds,
    solve_seconds, update_seconds,
};
pub(crate) use learning::{
    HasUpdates, UPDATES, clip_share, entropy, grad_norm, kl, learned_tokens, policy_loss, ratio, sampler_mismatch,
    updates,
};

use super::Side;

/// A metric: recorded for the run and, where it says something of one member, for each member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// Its name in rows, in the API and on pages.
    pub name: &'static str,
    /// What it counts in; empty for a plain number.
    pub unit: &'static str,
    /// What it means, in one sentence.
    pub summary: &'static str,
    /// The charts that it is drawn in.
    pub charts: &'static [&'static Chart],
}

impl Metric {
    /// A metric of which nothing but its name is known.
    pub const fn bare(name: &'static str) -> Self {
        Self {
            name,
            unit: "",
            summary: "",
            charts: &[],
        }
    }
}

/// A chart: metrics over steps. Charts are shown in the order in which a recipe's metrics first name them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: &'static str,
    /// How it is read.
    pub about: &'static str,
    /// Whether its metrics are parts of one thing, drawn together for the run alone, rather than one that members have.
    pub has_parts: bool,
    /// The subject.
    pub group: &'static ChartGroup,
}

/// Charts about one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartGroup {
    /// The subject.
    pub title: &'static str,
    /// Whose curves are drawn, where there are members of that side; none for all.
    pub side: Option<Side>,
}

/// How well problems are solved.
pub const SOLVING: ChartGroup = ChartGroup {
    title: "Solving",
    side: Some(Side::Solves),
};
/// What is proposed.
pub const PROPOSING: ChartGroup = ChartGroup {
    title: "Proposing",
    side: Some(Side::Proposes),
};
/// How adapters learn.
pub const LEARNING: ChartGroup = ChartGroup {
    title: "Learning",
    side: None,
};
/// What a step takes.
pub const COST: ChartGroup = ChartGroup {
    title: "Cost",
    side: None,
};

/// A chart of one metric, which members have.
pub(crate) const fn chart(group: &'static ChartGroup, title: &'static str, about: &'static str) -> Chart {
    Chart {
        title,
        about,
        has_parts: false,
        group,
    }
}

/// A chart of parts of one thing.
pub(crate) const fn parts(group: &'static ChartGroup, title: &'static str, about: &'static str) -> Chart {
    Chart {
        title,
        about,
        has_parts: true,
        group,
    }
}

/// A metric and how its value follows from what a step came to; NaN where there is none.
pub(crate) struct Measure<T> {
    pub(crate) metric: Metric,
    pub(crate) value: fn(&T) -> f64,
}

/// A measure.
pub(crate) const fn measure<T>(
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
        },
        value,
    }
}

/// The values of `measures`, in their order.
pub(crate) fn values<T>(measures: &[Measure<T>], of: &T) -> Vec<f64> {
    measures.iter().map(|measure| (measure.value)(of)).collect()
}

/// The mean; NaN where there is nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// 1 for true, so that the mean is a share.
pub(crate) fn share(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}
