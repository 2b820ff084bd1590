//! Which metrics a run's page draws together, and in which order. `docs/METRICS.md` says how each is read.

mod catalogue;

use serde::Serialize;

use self::catalogue::GROUPS;

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

/// The charts of a run that records `metrics`. What no chart names gets one of its own, so that nothing is left out.
pub(crate) fn charts_of(metrics: &[String]) -> Vec<ChartGroup> {
    let mut groups = Vec::new();
    for (title, side, rows) in GROUPS {
        let charts: Vec<Chart> = rows
            .iter()
            .filter_map(|(title, names, parts, about)| {
                let known: Vec<String> = names
                    .iter()
                    .filter(|name| metrics.iter().any(|one| one == *name))
                    .map(|name| (*name).to_owned())
                    .collect();
                (!known.is_empty()).then(|| Chart {
                    name: title.to_lowercase().replace(' ', "-"),
                    title: (*title).to_owned(),
                    about,
                    labels: labels(&known),
                    metrics: known,
                    parts: *parts,
                    side,
                })
            })
            .collect();
        if !charts.is_empty() {
            groups.push(ChartGroup { title, charts });
        }
    }
    let named = |metric: &&String| {
        !groups
            .iter()
            .flat_map(|group: &ChartGroup| &group.charts)
            .any(|chart| chart.metrics.contains(metric))
    };
    let others: Vec<Chart> = metrics
        .iter()
        .filter(named)
        .map(|metric| Chart {
            name: metric.clone(),
            title: metric.replace('_', " "),
            about: "",
            labels: labels(std::slice::from_ref(metric)),
            metrics: vec![metric.clone()],
            parts: false,
            side: None,
        })
        .collect();
    if !others.is_empty() {
        groups.push(ChartGroup {
            title: "Other",
            charts: others,
        });
    }
    groups
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
    use lyceum_core::recipe::Registry;
    use std::collections::HashSet;

    #[test]
    fn every_metric_of_every_recipe_is_drawn_and_each_chart_has_its_own_name() {
        for recipe in Registry::shipped().recipes() {
            let metrics: Vec<String> = recipe.metric_names().into_iter().map(str::to_owned).collect();
            let groups = charts_of(&metrics);
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
    fn a_metric_that_nobody_foresaw_is_drawn_too() {
        let groups = charts_of(&["solve_rate".to_owned(), "vendi_score".to_owned()]);
        assert_eq!(groups[1].charts[0].title, "vendi score");
    }
}
