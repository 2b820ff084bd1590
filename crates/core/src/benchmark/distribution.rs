//! Scores within the distribution of the training data, and outside of it (SAGE, Tables 1 and 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Cell, Subject, SuiteChoice};

/// Where the questions of a suite come from, seen from what a subject was trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// From the distribution of the training data, such as the test split of a set whose training split was used.
    In,
    /// From elsewhere.
    Out,
}

/// Subjects down; suites in and out of distribution across, each group with its average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generalization {
    /// Suites in distribution, by the name of their results, in the order in which they were asked for.
    pub in_distribution: Vec<String>,
    /// Suites out of distribution.
    pub out_of_distribution: Vec<String>,
    /// A row for each subject, in the order of their first scores.
    pub rows: Vec<GeneralizationRow>,
}

/// What a subject scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneralizationRow {
    pub subject: Subject,
    /// Scores by suite.
    pub scores: BTreeMap<String, Cell>,
    /// The mean pass@1 over the suites in distribution; absent unless all have a score.
    pub in_average: Option<f64>,
    /// The same out of distribution.
    pub out_average: Option<f64>,
    /// The mean over all of these suites.
    pub average: Option<f64>,
}

impl Generalization {
    /// The table of `scores`, each a subject, the name of its result and its score; `None` if no suite is marked.
    pub fn of(choices: &[SuiteChoice], scores: impl IntoIterator<Item = (Subject, String, Cell)>) -> Option<Self> {
        let marked = |mark: Distribution| -> Vec<String> {
            let requests = choices.iter().map(SuiteChoice::request);
            let of_mark = requests.filter(|request| request.distribution == Some(mark));
            of_mark.map(|request| request.result_name()).collect()
        };
        let (in_distribution, out_of_distribution) = (marked(Distribution::In), marked(Distribution::Out));
        if in_distribution.is_empty() && out_of_distribution.is_empty() {
            return None;
        }
        let mut rows: Vec<GeneralizationRow> = Vec::new();
        for (subject, suite, cell) in scores {
            if !in_distribution.contains(&suite) && !out_of_distribution.contains(&suite) {
                continue;
            }
            let place = rows.iter().position(|row| row.subject == subject).unwrap_or_else(|| {
                rows.push(GeneralizationRow {
                    subject,
                    scores: BTreeMap::new(),
                    in_average: None,
                    out_average: None,
                    average: None,
                });
                rows.len() - 1
            });
            rows[place].scores.insert(suite, cell);
        }
        for row in &mut rows {
            let mean = |suites: &mut dyn Iterator<Item = &String>| -> Option<f64> {
                let scores: Option<Vec<f64>> = suites.map(|name| Some(row.scores.get(name)?.pass_at_1)).collect();
                let scores = scores.filter(|scores| !scores.is_empty())?;
                Some(scores.iter().sum::<f64>() / scores.len() as f64)
            };
            let in_average = mean(&mut in_distribution.iter());
            let out_average = mean(&mut out_of_distribution.iter());
            row.average = mean(&mut in_distribution.iter().chain(&out_of_distribution));
            (row.in_average, row.out_average) = (in_average, out_average);
        }
        Some(Self {
            in_distribution,
            out_of_distribution,
            rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::SubjectRole;
    use serde_json::json;

    fn choices(value: serde_json::Value) -> Vec<SuiteChoice> {
        serde_json::from_value(value).unwrap()
    }

    fn score(name: &str, suite: &str, pass_at_1: f64) -> (Subject, String, Cell) {
        let subject = Subject {
            name: name.to_owned(),
            role: SubjectRole::Member,
            member: None,
        };
        let cell = Cell {
            pass_at_1,
            standard_error: 0.01,
        };
        (subject, suite.to_owned(), cell)
    }

    #[test]
    fn an_average_is_over_all_suites_of_its_group_or_missing() {
        let choices = choices(json!([
            {"suite": "GSM8K", "distribution": "in"},
            {"suite": "math500", "distribution": "in"},
            {"suite": "livecodebench", "name": "recent", "distribution": "out"},
            "humaneval",
        ]));
        let table = Generalization::of(
            &choices,
            [
                score("base", "gsm8k", 0.8),
                score("base", "math500", 0.6),
                score("base", "recent", 0.1),
                score("base", "humaneval", 1.0),
                score("member", "gsm8k", 0.9),
            ],
        )
        .unwrap();
        assert_eq!(table.in_distribution, ["gsm8k", "math500"]);
        assert_eq!(table.out_of_distribution, ["recent"]);
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-12;
        let base = &table.rows[0];
        assert!(near(base.in_average, 0.7) && near(base.out_average, 0.1) && near(base.average, 0.5));
        assert!(!base.scores.contains_key("humaneval"), "it is not marked");
        let member = &table.rows[1];
        assert_eq!(
            (member.in_average, member.out_average, member.average),
            (None, None, None)
        );
    }

    #[test]
    fn nothing_is_marked_and_there_is_no_table() {
        assert_eq!(
            Generalization::of(&choices(json!(["gsm8k", {"suite": "humaneval", "n": 2}])), []),
            None
        );
        let read: Result<Vec<SuiteChoice>, _> =
            serde_json::from_value(json!([{"suite": "gsm8k", "distribution": "near"}]));
        assert!(read.is_err());
        let word: SuiteChoice = "gsm8k,distribution=out".parse().unwrap();
        assert_eq!(word.request().distribution, Some(Distribution::Out));
    }
}
