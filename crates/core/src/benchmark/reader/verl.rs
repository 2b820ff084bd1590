//! Rows for verl: a conversation in `prompt`, and in `reward_model.ground_truth` the answer, or tests of a program.

use serde_json::{Value, json};

use super::{line::Line, mathematics, messages};
use crate::benchmark::{BenchmarkRow, Question, format::Gold};

const TRUTH: &str = "reward_model.ground_truth";

pub(super) fn row(line: &Line, task_id: String, tags: &[String]) -> Result<BenchmarkRow, String> {
    let question = messages::question(line, "prompt")?;
    let (oracle, canonical) = match tests(line)? {
        Some(tests) => (tests, None),
        None => {
            let gold = mathematics::answer(
                line,
                &Gold {
                    field: TRUTH.to_owned(),
                    first: true,
                    ..Gold::default()
                },
            )?;
            (Question::Math { gold: gold.clone() }, Some(gold))
        }
    };
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical,
        oracle,
        tags: line.tags(tags)?,
    })
}

/// Pairs of a standard input and its output, if the truth is an object, which may be written as JSON in a text.
fn tests(line: &Line) -> Result<Option<Question>, String> {
    let raw = line.raw(TRUTH).ok_or_else(|| line.missing(TRUTH))?;
    let truth: Value = serde_json::from_str(&raw).map_err(|error| format!("field `{TRUTH}`: {error}"))?;
    let truth = match truth {
        // A set such as {1, 2} is no JSON.
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    };
    let Value::Object(fields) = truth else { return Ok(None) };
    if let Some(name) = fields.get("fn_name").and_then(Value::as_str) {
        return Err(format!(
            "field `{TRUTH}` tests the function `{name}`: of programs, only those that read standard input are read"
        ));
    }
    let list = |name: &str| fields.get(name).and_then(Value::as_array);
    let (Some(inputs), Some(outputs)) = (list("inputs"), list("outputs")) else {
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        return Err(format!(
            "field `{TRUTH}` has `{}`: valid are an answer, or lists of `inputs` and `outputs`",
            names.join("`, `")
        ));
    };
    if inputs.is_empty() || inputs.len() != outputs.len() {
        return Err(format!(
            "field `{TRUTH}` has {} inputs and {} outputs: as many of both, at least one, are valid",
            inputs.len(),
            outputs.len()
        ));
    }
    let pairs = inputs
        .iter()
        .zip(outputs)
        .map(|(input, output)| Ok(json!({"input": stream(input)?, "output": stream(output)?, "testtype": "stdin"})));
    let cases = pairs.collect::<Result<Vec<Value>, String>>()?;
    Ok(Some(Question::LiveCodeBench {
        entry_point: None,
        starter_code: String::new(),
        public_test_cases: Some(Value::from(cases).to_string()),
        private_test_cases: None,
    }))
}

/// What a program reads or prints: a text, or the list of its lines.
fn stream(value: &Value) -> Result<String, String> {
    let lines = value
        .as_array()
        .map(|lines| lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match (value, lines.flatten()) {
        (Value::String(text), _) => Ok(text.clone()),
        (_, Some(lines)) => Ok(lines.join("\n")),
        _ => Err(format!(
            "field `{TRUTH}` has an input or output that is neither a text nor a list of lines"
        )),
    }
}
