//! Metrics: what a recipe records in every step, and how it is charted.
//!
//! A recipe lists its metrics as measures of its own type of outcome; [`records`] computes rows of them.

use super::{MetricRecord, Side};
use crate::id::MemberId;
use crate::verdict::Signal;

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
    /// The side it is about, if it is about one only; it is drawn in that side's colour among others.
    pub side: Option<Side>,
    /// Where it is shown besides its charts.
    pub highlights: &'static [Highlight],
    /// What it tells a verdict.
    pub signal: Option<Signal>,
    /// What it adds to the account of a run.
    pub expense: Option<Expense>,
    /// What it says about a growing set.
    pub growth: Option<Growth>,
}

/// What the names of a family of metrics begin with, one for each part of the rewards of a run. Which parts there are is known
/// only from the answers' verdicts, so they join a run's metrics as they appear.
pub const REWARD_PART: &str = "reward_part.";

/// How the parts of rewards are charted.
pub const REWARD_PARTS: Chart = parts(&SOLVING, "Reward parts")
    .about("Mean of each part of a reward, weighted, over all answers of the step. They add up to the mean reward.");

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

/// What comparisons of runs sum over steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expense {
    Attempts,
    Proposals,
    CompletionTokens,
    LearnedTokens,
    Updates,
}

/// What a growing set and its critic are judged by, in the order of the columns of their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Growth {
    /// Tasks in the set.
    Size,
    Admitted,
    QuestionScore,
    PlanScore,
    CriticAuc,
    /// The share of stated answers that are right.
    StatedRight,
    /// The same of what joined.
    AdmittedRight,
}

impl Metric {
    /// A metric without a sentence or places that show it, charts apart.
    pub const fn new(name: &'static str, unit: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self { name, unit, summary: "", charts, side: None, highlights: &[], signal: None, expense: None, growth: None }
    }

    /// A plain number.
    pub const fn number(name: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self::new(name, "", charts)
    }

    /// A share, from 0 to 1.
    pub const fn share(name: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self::new(name, "share", charts)
    }

    pub const fn tokens(name: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self::new(name, "tokens", charts)
    }

    pub const fn seconds(name: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self::new(name, "s", charts)
    }

    pub const fn nats(name: &'static str, charts: &'static [&'static Chart]) -> Self {
        Self::new(name, "nats", charts)
    }

    pub const fn summary(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    pub const fn side(self, side: Side) -> Self {
        let side = Some(side);
        Self { side, ..self }
    }

    pub const fn highlighted(self, highlights: &'static [Highlight]) -> Self {
        Self { highlights, ..self }
    }

    pub const fn signal(self, signal: Signal) -> Self {
        let signal = Some(signal);
        Self { signal, ..self }
    }

    pub const fn expense(self, expense: Expense) -> Self {
        let expense = Some(expense);
        Self { expense, ..self }
    }

    pub const fn growth(self, growth: Growth) -> Self {
        let growth = Some(growth);
        Self { growth, ..self }
    }

    /// How it is computed from a step's outcome.
    pub fn of<'t, T: 't>(self, value: fn(&T) -> f64) -> Measure<'t, T> {
        self.computed_by(value)
    }

    /// How it is computed from a step's outcome, by a closure that captures values: its parameter needs a type.
    pub fn computed_by<'t, T>(self, value: impl Fn(&T) -> f64 + 't) -> Measure<'t, T> {
        Measure { metric: self, value: Box::new(value) }
    }

    /// Its place among the metrics that a run records.
    pub fn place_in(&self, recorded: &[String]) -> Option<usize> {
        recorded.iter().position(|name| name == self.name)
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

impl ChartGroup {
    pub const fn new(title: &'static str, side: Option<Side>) -> Self {
        Self { title, side }
    }
}

/// How well problems are solved.
pub const SOLVING: ChartGroup = ChartGroup::new("Solving", Some(Side::Solves));
/// The quality of proposals.
pub const PROPOSING: ChartGroup = ChartGroup::new("Proposing", Some(Side::Proposes));
/// The quality of plans.
pub const PLANNING: ChartGroup = ChartGroup::new("Planning", Some(Side::Plans));
/// How proposals and plans are judged.
pub const JUDGING: ChartGroup = ChartGroup::new("Judging", Some(Side::Judges));
/// How adapters learn.
pub const LEARNING: ChartGroup = ChartGroup::new("Learning", None);
pub const COST: ChartGroup = ChartGroup::new("Cost", None);

/// A chart of one metric, also recorded per member.
pub const fn chart(group: &'static ChartGroup, title: &'static str) -> Chart {
    Chart { title, about: "", has_parts: false, group }
}

/// A chart of the parts of a whole.
pub const fn parts(group: &'static ChartGroup, title: &'static str) -> Chart {
    let has_parts = true;
    Chart { has_parts, ..chart(group, title) }
}

impl Chart {
    /// How to read it.
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// Measures as a table. A row has a unit, a name, its charts, a sentence, further calls on the [`Metric`], and how it is
/// computed from a step's outcome; `= MEASURE;` is a measure as it is.
///
/// `share "pass_rate" [PASS_RATE] "Answers that are correct.", signal(Signal::Pass) => |of| of.rate();`
macro_rules! table {
    ($($rows:tt)*) => { $crate::contract::metric::rows!([] $($rows)*) };
}

macro_rules! rows {
    ([$($done:tt)*]) => { vec![$($done)*] };
    ([$($done:tt)*] = $measure:expr; $($rest:tt)*) => {
        $crate::contract::metric::rows!([$($done)* $measure,] $($rest)*)
    };
    ([$($done:tt)*] new($unit:literal) $name:literal [$($chart:ident),*] $summary:expr
        $(, $call:ident($($argument:expr),*))* => $value:expr; $($rest:tt)*) => {
        $crate::contract::metric::rows!([$($done)* $crate::contract::Metric::new($name, $unit, &[$(&$chart),*])
            .summary($summary)$(.$call($($argument),*))*.of($value),] $($rest)*)
    };
    ([$($done:tt)*] $unit:ident $name:literal [$($chart:ident),*] $summary:expr
        $(, $call:ident($($argument:expr),*))* => $value:expr; $($rest:tt)*) => {
        $crate::contract::metric::rows!([$($done)* $crate::contract::Metric::$unit($name, &[$(&$chart),*])
            .summary($summary)$(.$call($($argument),*))*.of($value),] $($rest)*)
    };
}

/// Charts as a table: [`chart`] or [`parts`], the constant's name, the group, the title and how to read it.
macro_rules! charts {
    ($($vis:vis $kind:ident $name:ident $group:ident $title:literal: $about:literal;)*) => {
        $($vis const $name: $crate::contract::Chart = $crate::contract::metric::$kind(&$group, $title).about($about);)*
    };
}

pub(crate) use {charts, rows, table};

/// A metric and the function that computes it from a step's outcome; NaN if there is no value.
pub struct Measure<'t, T> {
    pub metric: Metric,
    value: Box<dyn Fn(&T) -> f64 + 't>,
}

impl<T> Measure<'_, T> {
    /// The same measure, shown in these places too.
    pub fn highlighted(mut self, highlights: &'static [Highlight]) -> Self {
        self.metric.highlights = highlights;
        self
    }
}

/// Measures of one side only.
pub fn of_side<T>(side: Side, mut measures: Vec<Measure<'_, T>>) -> Vec<Measure<'_, T>> {
    for measure in &mut measures {
        measure.metric.side = Some(side);
    }
    measures
}

/// The metrics of `measures`, in order.
pub fn metrics<T>(measures: &[Measure<'_, T>]) -> Vec<Metric> {
    measures.iter().map(|measure| measure.metric).collect()
}

/// The values of `measures` in each of `rows`, the outcomes for members and, without a member, for the run.
pub fn records<T>(
    measures: &[Measure<'_, T>],
    rows: impl IntoIterator<Item = (Option<MemberId>, T)>,
) -> Vec<MetricRecord> {
    let record = |(member, of)| MetricRecord {
        member,
        values: measures.iter().map(|measure| (measure.value)(&of)).collect(),
        ..MetricRecord::default()
    };
    rows.into_iter().map(record).collect()
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
