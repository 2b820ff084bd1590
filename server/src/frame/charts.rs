//! The charts of a run's page. `docs/METRICS.md` explains every metric.

use lyceum_core::recipe::{Chart as Drawn, Metric, REWARD_PART, REWARD_PARTS, Side};
use serde::Serialize;

/// A chart: metrics over steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// Its name in saved files.
    pub(crate) name: String,
    pub(crate) title: String,
    /// How to read it.
    pub(crate) about: &'static str,
    /// The metrics drawn.
    pub(crate) metrics: Vec<String>,
    /// The legend's name for each.
    pub(crate) labels: Vec<String>,
    /// The side each is about, as [`Side::name`]; `None` if it is about several.
    pub(crate) sides: Vec<Option<&'static str>>,
    /// Whether its metrics are parts of a whole, drawn for the run only.
    pub(crate) parts: bool,
    /// The side whose members' curves are drawn, as [`Side::name`]; `None` for all members.
    pub(crate) side: Option<&'static str>,
    /// The unit of its metrics; empty for plain numbers, and if they have several.
    pub(crate) unit: &'static str,
}

/// Charts about one subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChartGroup {
    /// The subject.
    pub(crate) title: &'static str,
    pub(crate) charts: Vec<Chart>,
    /// Its charts of values that never change, which are folded away.
    pub(crate) constant: Vec<Chart>,
    /// Its charts without a value yet, which are only named.
    pub(crate) empty: Vec<Chart>,
}

impl ChartGroup {
    /// Whether it has anything to draw.
    pub(crate) fn is_drawn(&self) -> bool {
        !self.charts.is_empty() || !self.constant.is_empty()
    }

    /// Sets the charts apart whose metrics all have `is_constant`, and those whose metrics all have `is_empty`.
    pub(crate) fn fold(self, is_constant: impl Fn(&str) -> bool, is_empty: impl Fn(&str) -> bool) -> Self {
        let all = |chart: &Chart, has: &dyn Fn(&str) -> bool| chart.metrics.iter().all(|metric| has(metric));
        let (empty, charts): (_, Vec<Chart>) = self.charts.into_iter().partition(|chart| all(chart, &is_empty));
        let (constant, charts) = charts.into_iter().partition(|chart| all(chart, &is_constant));
        Self { charts, constant, empty, ..self }
    }
}

/// The charts of a run with metrics of these names, as its recipe declares them. A metric unknown to the recipe gets a
/// chart of its own.
pub(crate) fn charts_of(names: &[String], known: &[Metric]) -> Vec<ChartGroup> {
    let recorded: Vec<&Metric> =
        names.iter().filter_map(|name| known.iter().find(|metric| metric.name == name)).collect();
    let mut groups: Vec<ChartGroup> = Vec::new();
    for drawn in recorded.iter().flat_map(|metric| metric.charts) {
        let group = group_of(drawn, &mut groups);
        if group.charts.iter().all(|chart| chart.title != drawn.title) {
            let metrics: Vec<&Metric> =
                recorded.iter().copied().filter(|metric| metric.charts.contains(drawn)).collect();
            group.charts.push(Chart::of(drawn, &metrics));
        }
    }
    let rewards: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(REWARD_PART)).collect();
    if !rewards.is_empty() {
        let chart = Chart {
            metrics: rewards.iter().map(|part| format!("{REWARD_PART}{part}")).collect(),
            labels: rewards.iter().map(|&part| part.to_owned()).collect(),
            sides: vec![None; rewards.len()],
            ..Chart::of(&REWARD_PARTS, &[])
        };
        group_of(&REWARD_PARTS, &mut groups).charts.push(chart);
    }
    let drawn = |name: &&String| {
        name.starts_with(REWARD_PART)
            || recorded.iter().any(|metric| metric.name == **name && !metric.charts.is_empty())
    };
    let others: Vec<Chart> = names.iter().filter(|name| !drawn(name)).map(Chart::bare).collect();
    if !others.is_empty() {
        groups.push(ChartGroup { title: "Other", charts: others, constant: Vec::new(), empty: Vec::new() });
    }
    groups
}

/// The group that a chart belongs to, among `groups` or added to them.
fn group_of<'g>(drawn: &Drawn, groups: &'g mut Vec<ChartGroup>) -> &'g mut ChartGroup {
    let title = drawn.group.title;
    let place = groups.iter().position(|group| group.title == title).unwrap_or_else(|| {
        groups.push(ChartGroup { title, charts: Vec::new(), constant: Vec::new(), empty: Vec::new() });
        groups.len() - 1
    });
    &mut groups[place]
}

/// The fragment that leads to the chart of `metric` among a run's metrics.
pub(crate) fn chart_of(names: &[String], known: &[Metric], metric: &str) -> Option<String> {
    let groups = charts_of(names, known);
    let mut charts = groups.iter().flat_map(|group| &group.charts);
    let chart = charts.find(|chart| chart.metrics.iter().any(|one| one == metric))?;
    Some(format!("#chart-{}", chart.name))
}

impl Chart {
    fn of(drawn: &Drawn, metrics: &[&Metric]) -> Self {
        let sides = metrics.iter().map(|metric| metric.side.map(Side::name)).collect();
        let first = metrics.first().map(|metric| metric.unit).unwrap_or_default();
        let unit = if metrics.iter().all(|metric| metric.unit == first) { first } else { "" };
        let metrics: Vec<String> = metrics.iter().map(|metric| metric.name.to_owned()).collect();
        Self {
            name: drawn.title.to_lowercase().replace(' ', "-"),
            title: drawn.title.to_owned(),
            about: drawn.about,
            labels: labels(&metrics),
            sides,
            metrics,
            parts: drawn.has_parts,
            side: drawn.group.side.map(Side::name),
            unit,
        }
    }

    /// A chart of a metric known only by name.
    fn bare(metric: &String) -> Self {
        Self {
            name: metric.clone(),
            title: metric.replace('_', " "),
            about: "",
            labels: labels(std::slice::from_ref(metric)),
            sides: vec![None],
            metrics: vec![metric.clone()],
            parts: false,
            side: None,
            unit: "",
        }
    }
}

/// Short names of metrics in one legend: without the words all of them begin or end with, which are in the chart's
/// title. Types of problems stay whole (`code_i`).
fn labels(metrics: &[String]) -> Vec<String> {
    let words: Vec<Vec<&str>> = metrics.iter().map(|metric| metric.split('_').collect()).collect();
    let alike = |from_end: bool| {
        let word = |words: &Vec<&str>, place: usize| {
            let place = if from_end { words.len().checked_sub(place + 1)? } else { place };
            words.get(place).map(|word| (*word).to_owned())
        };
        let same = |place: &usize| {
            let first = word(&words[0], *place);
            first.is_some() && words.iter().all(|words| word(words, *place) == first)
        };
        (0..).take_while(same).count()
    };
    let (before, after) = match words.len() {
        0 | 1 => (0, 0),
        _ => (alike(false), alike(true)),
    };
    let label = |words: &Vec<&str>| {
        let before = match before {
            1.. if words[before - 1] == "code" => before - 1,
            before => before,
        };
        let kept = words.get(before..words.len().saturating_sub(after)).unwrap_or_default();
        match kept {
            [] => words.join(" "),
            ["code", kind] => format!("code_{kind}"),
            kept => kept.join(" "),
        }
    };
    words.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::recipe::{ChartGroup as Group, Populora, Recipe as _, Registry};
    use std::collections::HashSet;

    #[test]
    fn every_metric_of_every_recipe_is_drawn_and_each_chart_has_its_own_name() {
        for recipe in Registry::shipped().recipes() {
            let metrics: Vec<String> = recipe.metric_names().into_iter().map(str::to_owned).collect();
            let groups = charts_of(&metrics, &recipe.metrics());
            let charts: Vec<&Chart> = groups.iter().flat_map(|group| &group.charts).collect();
            let drawn: HashSet<&String> = charts.iter().flat_map(|chart| &chart.metrics).collect();
            assert_eq!(drawn.len(), metrics.len(), "{}", recipe.name());
            let names: HashSet<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
            assert_eq!(names.len(), charts.len());
            assert!(groups.iter().all(|group| group.title != "Other"), "{}", recipe.name());
        }
    }

    #[test]
    fn a_legend_says_what_differs() {
        let of = |names: &[&str]| labels(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["solve_rate_code_i", "solve_rate_code_o"]), ["code_i", "code_o"]);
        assert_eq!(of(&["unsolved_share", "mastered_share"]), ["unsolved", "mastered"]);
        assert_eq!(of(&["proposals", "valid_problems"]), ["proposals", "valid problems"]);
        assert_eq!(of(&["teacher_reward", "teacher_reward_std"]), ["teacher reward", "std"]);
        assert_eq!(of(&["solve_rate"]), ["solve rate"]);
        assert_eq!(of(&[]), Vec::<String>::new());
    }

    #[test]
    fn a_recipe_draws_its_own_metric_without_the_server_knowing_it() {
        const SUBJECT: Group = Group { title: "Diversity", side: Some(Side::Proposes) };
        const VENDI: Drawn = Drawn {
            title: "Vendi score",
            about: "Effective number of distinct problems.",
            has_parts: false,
            group: &SUBJECT,
        };
        let metric = Metric::nats("vendi_score", &[&VENDI]).side(Side::Proposes);
        let groups = charts_of(&["vendi_score".to_owned()], &[metric]);
        let chart = Chart {
            name: "vendi-score".to_owned(),
            title: "Vendi score".to_owned(),
            about: "Effective number of distinct problems.",
            metrics: vec!["vendi_score".to_owned()],
            labels: vec!["vendi score".to_owned()],
            sides: vec![Some("proposing")],
            parts: false,
            side: Some("proposing"),
            unit: "nats",
        };
        let group = ChartGroup { title: "Diversity", charts: vec![chart], constant: Vec::new(), empty: Vec::new() };
        assert_eq!(groups, [group]);
    }

    #[test]
    fn a_chart_is_folded_away_if_none_of_its_metrics_changes() {
        let names = ["solve_rate", "learnable_share", "mastered_share", "kl"].map(str::to_owned);
        let known = Populora.metrics();
        let nothing = |_: &str| false;
        let folded = |constant: &[&str]| -> Vec<String> {
            let groups = charts_of(&names, &known).into_iter();
            let groups = groups.map(|group| group.fold(|metric| constant.contains(&metric), nothing));
            groups.flat_map(|group| group.constant).map(|chart| chart.title).collect()
        };
        assert_eq!(folded(&[]), Vec::<String>::new());
        assert_eq!(folded(&["solve_rate", "learnable_share"]), ["Solve rate"]);
        let charts: usize = charts_of(&names, &known).iter().map(|group| group.charts.len()).sum();
        assert_eq!(folded(&["solve_rate", "learnable_share", "mastered_share", "kl"]).len(), charts);
    }

    #[test]
    fn a_chart_without_a_value_is_only_named_and_one_with_a_value_is_drawn() {
        let names = ["learnable_share", "mastered_share", "kl"].map(str::to_owned);
        let groups = charts_of(&names, &Populora.metrics()).into_iter();
        let folded = groups.map(|group| group.fold(|_| true, |metric| metric != "mastered_share"));
        let (empty, constant): (Vec<_>, Vec<_>) = folded.map(|group| (group.empty, group.constant)).unzip();
        let names = |charts: Vec<Vec<Chart>>| -> Vec<String> {
            charts.concat().into_iter().flat_map(|chart| chart.metrics).collect()
        };
        assert_eq!(names(constant), ["learnable_share", "mastered_share"], "they share a chart");
        assert_eq!(names(empty), ["kl"]);
    }

    #[test]
    fn parts_of_a_reward_share_a_chart_among_those_of_solving() {
        let names = ["solve_rate", "reward_part.correct", "kl", "reward_part.of_length"].map(str::to_owned);
        let groups = charts_of(&names, &Populora.metrics());
        let chart = groups[0].charts.last().unwrap();
        assert_eq!((groups[0].title, chart.parts), ("Solving", true));
        assert_eq!(chart.metrics, ["reward_part.correct", "reward_part.of_length"]);
        assert_eq!(chart.labels, ["correct", "of_length"]);
        assert_eq!(groups.len(), 2, "nothing is drawn twice");
    }

    #[test]
    fn a_metric_that_nobody_foresaw_is_drawn_too() {
        let known = Populora.metrics();
        let groups = charts_of(&["solve_rate".to_owned(), "vendi_score".to_owned()], &known);
        assert_eq!(groups[0].charts[0].title, "Solve rate");
        assert_eq!(groups[1].charts[0].title, "vendi score");
    }
}
