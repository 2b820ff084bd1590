//! Scores by problem, as several programs write them.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use uuid::Uuid;

use crate::client::Client;

/// Results among which the newest is looked for.
const MANY: u32 = 1_000;
/// Metrics that are read of samples that do not say which of theirs is meant.
const METRICS: [&str; 6] = ["exact_match", "acc", "pass@1", "score", "acc_norm", "f1"];

/// A run or an evaluation, and the name of one of its subjects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    id: Uuid,
    subject: Option<String>,
}

impl FromStr for Place {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        let (id, subject) = text.split_once('/').map_or((text, None), |(id, name)| (id, Some(name.to_owned())));
        Ok(Self { id: id.parse()?, subject })
    }
}

/// Choices among several suites and metrics.
pub(super) struct Reading<'a> {
    pub(super) suite: Option<&'a str>,
    pub(super) metric: Option<&'a str>,
}

/// The mean score of each problem.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scores(BTreeMap<String, (f64, u32)>);

impl Scores {
    /// Of a run's or an evaluation's subject, or of the mean over the members of a run that solve, at their newest result.
    pub(super) fn of_server(client: &Client, place: &Place, options: &Reading<'_>) -> anyhow::Result<Self> {
        let Place { id, subject } = place;
        let suite = options.suite.map(|suite| format!("suite={}", encoded(suite))).unwrap_or_default();
        let is_run = client.get(&format!("/api/v1/runs/{id}")).is_ok();
        let of = if is_run { format!("runs/{id}/benchmarks") } else { format!("evaluations/{id}/results") };
        let results = client.items(&format!("/api/v1/{of}?{suite}"), MANY)?;
        let is_meant = |result: &&Value| match subject {
            Some(name) => result["name"] == name.as_str(),
            None => !is_run || matches!(result["role"].as_str(), Some("student" | "member")),
        };
        let Some(newest) = results.iter().find(is_meant) else {
            let names = results.iter().filter_map(|result| result["name"].as_str());
            let names: std::collections::BTreeSet<&str> = names.collect();
            match names.is_empty() {
                true => bail!("it has no results: `lyceum benchmark evaluate` makes some"),
                false => bail!("it has no results of that subject: there are {}", Vec::from_iter(names).join(", ")),
            }
        };
        let same = |result: &&Value| ["evaluation_id", "suite"].iter().all(|field| result[*field] == newest[*field]);
        let chosen: Vec<&Value> = results.iter().filter(is_meant).filter(same).collect();
        if !is_run && subject.is_none() && chosen.len() > 1 {
            let mut names: Vec<&str> = chosen.iter().filter_map(|result| result["name"].as_str()).collect();
            names.sort_unstable();
            bail!("it has several subjects: {id}/NAME is valid, where NAME is one of {}", names.join(", "));
        }
        let mut scores = Self::default();
        for result in chosen {
            let (evaluation, suite) = (newest["evaluation_id"].as_str(), newest["suite"].as_str());
            let (evaluation, suite) = evaluation.zip(suite).context("a result without evaluation or suite")?;
            let path = format!(
                "/api/v1/evaluations/{evaluation}/export?format=lm_eval_samples&suite={}&subject={}",
                encoded(suite),
                result["subject"]
            );
            scores.read(&client.text(&path)?, options.metric)?;
        }
        Ok(scores)
    }

    pub(super) fn of_file(path: &Path, metric: Option<&str>) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).context("cannot be read, and is no evaluation's id")?;
        Self::of_text(&text, metric)
    }

    fn of_text(text: &str, metric: Option<&str>) -> anyhow::Result<Self> {
        let mut scores = Self::default();
        scores.read(text, metric)?;
        Ok(scores)
    }

    fn read(&mut self, text: &str, metric: Option<&str>) -> anyhow::Result<()> {
        if let Ok(log) = serde_json::from_str::<Value>(text)
            && let Some(samples) = log["samples"].as_array()
        {
            for (place, sample) in samples.iter().enumerate() {
                self.add_inspect(sample, metric).with_context(|| format!("samples[{place}]"))?;
            }
        } else {
            for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
                let row: Value = serde_json::from_str(line).with_context(|| format!("line {number}"))?;
                self.add(&row, metric).with_context(|| format!("line {number}"))?;
            }
        }
        if self.0.is_empty() {
            bail!("there are no samples in it");
        }
        Ok(())
    }

    /// A line of our own or of lm-eval.
    fn add(&mut self, row: &Value, metric: Option<&str>) -> anyhow::Result<()> {
        let problem = ["problem", "doc_id"].iter().find_map(|field| name(&row[*field]));
        let problem = problem.context("it has neither `problem` nor `doc_id`")?;
        let listed = row["metrics"][0].as_str();
        let field = match metric.or(listed) {
            Some(field) => field,
            None => METRICS.into_iter().find(|field| !row[*field].is_null()).with_context(|| {
                format!("it has no score: one of {} is read, or what --metric names", METRICS.join(", "))
            })?,
        };
        self.note(problem, score(&row[field]).with_context(|| format!("`{field}` is {}", row[field]))?);
        Ok(())
    }

    /// A sample of inspect: `scores` by scorer, each with a `value`.
    fn add_inspect(&mut self, sample: &Value, metric: Option<&str>) -> anyhow::Result<()> {
        let problem = name(&sample["id"]).context("it has no `id`")?;
        let scorers = sample["scores"].as_object().context("it has no `scores`")?;
        let scorer = match metric {
            Some(metric) => scorers.get_key_value(metric),
            None => scorers.iter().next(),
        };
        let (scorer, found) = scorer.with_context(|| {
            let valid: Vec<&str> = scorers.keys().map(String::as_str).collect();
            format!("it has no such scorer: valid are {}", valid.join(", "))
        })?;
        let value = &found["value"];
        self.note(problem, score(value).with_context(|| format!("the value of `{scorer}` is {value}"))?);
        Ok(())
    }

    fn note(&mut self, problem: String, score: f64) {
        let (sum, count) = self.0.entry(problem).or_default();
        *sum += score;
        *count += 1;
    }

    pub(super) fn problems(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The means of exactly these problems.
    pub(super) fn by(&self, problems: &[String]) -> anyhow::Result<Vec<f64>> {
        if let Some(lacking) = problems.iter().find(|problem| !self.0.contains_key(*problem)) {
            bail!("it has no score of problem `{lacking}`: all places must have been measured on the same problems");
        }
        if let Some(other) = self.0.keys().find(|problem| problems.binary_search(problem).is_err()) {
            bail!("it has a score of problem `{other}`, which the first place lacks: all must have the same problems");
        }
        Ok(self.0.values().map(|(sum, count)| sum / f64::from(*count)).collect())
    }
}

fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A number, a truth value, or inspect's C, P and I: correct, partly and not.
fn score(value: &Value) -> anyhow::Result<f64> {
    Ok(match value {
        Value::Bool(is_right) => f64::from(u8::from(*is_right)),
        Value::String(text) => match text.as_str() {
            "C" => 1.0,
            "P" => 0.5,
            "I" | "N" => 0.0,
            _ => bail!("a number, a truth value, or C, P, I or N is valid"),
        },
        value => value.as_f64().context("a number, a truth value, or C, P, I or N is valid")?,
    })
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str, metric: Option<&str>) -> anyhow::Result<Vec<f64>> {
        let scores = Scores::of_text(text, metric)?;
        scores.by(&scores.problems())
    }

    #[test]
    fn scores_are_read_from_what_several_programs_write() {
        let own =
            "{\"problem\":\"b\",\"score\":1}\n\n{\"problem\":\"a\",\"score\":0.25}\n{\"problem\":\"b\",\"score\":0}";
        assert_eq!(means(own, None).unwrap(), [0.25, 0.5]);
        let lm_eval = "{\"doc_id\":0,\"filter\":\"none\",\"metrics\":[\"em\"],\"em\":1.0,\"acc\":0}\n{\"doc_id\":1,\"metrics\":[\"em\"],\"em\":0.0,\"acc\":1}";
        assert_eq!(means(lm_eval, None).unwrap(), [1.0, 0.0]);
        assert_eq!(means(lm_eval, Some("acc")).unwrap(), [0.0, 1.0]);
        let inspect = r#"{"samples":[{"id":1,"epoch":1,"scores":{"match":{"value":"C"}}},{"id":1,"epoch":2,"scores":{"match":{"value":"I"}}},
            {"id":"x","epoch":1,"scores":{"match":{"value":true}}}]}"#;
        assert_eq!(means(inspect, None).unwrap(), [0.5, 1.0]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_line_and_field() {
        let refused = |text: &str| format!("{:#}", means(text, None).unwrap_err());
        for (text, parts) in [
            ("{\"problem\":1,\"score\":1}\n{\"problem\":2,\"score\":\"good\"}", ["line 2", "`score` is \"good\""]),
            ("{\"score\":1}", ["line 1", "`problem`"]),
            ("{\"problem\":1}", ["line 1", "--metric"]),
            ("{\"problem\":1", ["line 1", "EOF"]),
            ("{\"samples\":[{\"id\":1,\"scores\":{}}]}", ["samples[0]", "scorer"]),
            ("", ["no samples", ""]),
        ] {
            let said = refused(text);
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
        let few = Scores::of_text("{\"problem\":1,\"score\":1}", None).unwrap();
        assert!(few.by(&["1".to_owned(), "2".to_owned()]).unwrap_err().to_string().contains("problem `2`"));
        assert!(few.by(&[]).unwrap_err().to_string().contains("problem `1`"));
    }
}
