//! Which metrics a run's page draws together, and in which order. `docs/METRICS.md` says how each is read.

use lyceum_core::recipe::{Chart as Drawn, Metric, Side};
use serde::Serialize;

/// A chart: metrics over steps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Chart {
    /// What it is called in files that are saved of it.
    pub(crate) name: String,
    /// What it shows, for people.
    pub(crate) title: String,
    /// How it is read.
    pub(crate) about: &'static str,
    /// The metrics that it draws.
    pub(crate) metrics: Vec<String>,
    /// What each is called beside the others.
    pub(crate) labels: Vec<String>,
    /// Whether its metrics are parts of one thing, drawn for the run alone, rather than one that members have.
    pub(crate) parts: bool,
    /// Whose curves are drawn, where such members are: those of `proposing` or `solving` members; none for all.
    pub(crate) side: Option<&'static str>,
}

/// Charts about one subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChartGroup {
    /// The subject.
    pub(crate) title: &'static str,
    /// Its charts.
    pub(crate) charts: Vec<Chart>,
}

/// The charts of a run that records metrics of these names, as its recipe draws them. A metric that the recipe does not know
/// gets a chart of its own, so that nothing is left out.
pub(crate) fn charts_of(names: &[String], known: &[Metric]) -> Vec<ChartGroup> {
    let recorded: Vec<&Metric> = names
        .iter()
        .filter_map(|name| known.iter().find(|metric| metric.name == name))
        .collect();
    let mut groups: Vec<ChartGroup> = Vec::new();
    for drawn in recorded.iter().flat_map(|metric| metric.charts) {
        let title = drawn.group.title;
        let group = match groups.iter().position(|group| group.title == title) {
            Some(place) => &mut groups[place],
            None => {
                groups.push(ChartGroup {
                    title,
                    charts: Vec::new(),
                });
                let last = groups.len() - 1;
                &mut groups[last]
            }
        };
        if group.charts.iter().all(|chart| chart.title != drawn.title) {
            let metrics = recorded.iter().filter(|metric| metric.charts.contains(drawn));
            group
                .charts
                .push(Chart::of(drawn, metrics.map(|metric| metric.name.to_owned()).collect()));
        }
    }
    let drawn = |name: &&String| {
        recorded
            .iter()
            .any(|metric| metric.name == **name && !metric.charts.is_empty())
    };
    let others: Vec<Chart> = names.iter().filter(|name| !drawn(name)).map(Chart::bare).collect();
    if !others.is_empty() {
        groups.push(ChartGroup {
            title: "Other",
            charts: others,
        });
    }
    groups
}

impl Chart {
    fn of(drawn: &Drawn, metrics: Vec<String>) -> Self {
        Self {
            name: drawn.title.to_lowercase().replace(' ', "-"),
            title: drawn.title.to_owned(),
            about: drawn.about,
            labels: labels(&metrics),
            metrics,
            parts: drawn.has_parts,
            side: drawn.group.side.map(Side::name),
        }
    }

    /// A chart of a metric of which nothing but its name is known.
    fn bare(metric: &String) -> Self {
        Self {
            name: metric.clone(),
            title: metric.replace('_', " "),
            about: "",
            labels: labels(std::slice::from_ref(metric)),
            metrics: vec![metric.clone()],
            parts: false,
            side: None,
        }
    }
}

/// Names of metrics that stand beside each other: without the words that all of them begin or end with, which the chart's title
/// says, but with types of problems whole (`code_i`).
fn labels(metrics: &[String]) -> Vec<String> {
    let words: Vec<Vec<&str>> = metrics.iter().map(|metric| metric.split('_').collect()).collect();
    let alike = |from_end: bool| {
        let word = |words: &Vec<&str>, place: usize| {
            let place = if from_end {
                words.len().checked_sub(place + 1)?
            } else {
                place
            };
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
        const SUBJECT: Group = Group {
            title: "Diversity",
            side: Some(Side::Proposes),
        };
        const VENDI: Drawn = Drawn {
            title: "Vendi score",
            about: "Effective number of distinct problems.",
            has_parts: false,
            group: &SUBJECT,
        };
        let metric = Metric {
            charts: &[&VENDI],
            ..Metric::bare("vendi_score")
        };
        let groups = charts_of(&["vendi_score".to_owned()], &[metric]);
        let chart = Chart {
            name: "vendi-score".to_owned(),
            title: "Vendi score".to_owned(),
            about: "Effective number of distinct problems.",
            metrics: vec!["vendi_score".to_owned()],
            labels: vec!["vendi score".to_owned()],
            parts: false,
            side: Some("proposing"),
        };
        let group = ChartGroup {
            title: "Diversity",
            charts: vec![chart],
        };
        assert_eq!(groups, [group]);
    }

    #[test]
    fn a_metric_that_nobody_foresaw_is_drawn_too() {
        let known = Populora.metrics();
        let groups = charts_of(&["solve_rate".to_owned(), "vendi_score".to_owned()], &known);
        assert_eq!(groups[0].charts[0].title, "Solve rate");
        assert_eq!(groups[1].charts[0].title, "vendi score");
    }
}
