//! Rows of mathematics benchmarks, by format; the format names the columns.

use serde::Deserialize;
use serde_json::{Value, json};

use super::line::Line;
use crate::answer::last_boxed;
use crate::benchmark::format::{Format, Gold};
use crate::benchmark::{BenchmarkRow, Question};

pub(super) fn mathematics(
    line: &Line,
    task_id: String,
    question: &[String],
    gold: &Gold,
    tags: &[String],
) -> Result<BenchmarkRow, String> {
    let question = self::question(line, line.first(question)?)?;
    let gold = answer(line, gold)?;
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical: Some(gold.clone()),
        oracle: Question::Math { gold },
        tags: line.tags(tags)?,
    })
}

pub(super) fn scored(line: &Line, task_id: String, format: &Format) -> Result<BenchmarkRow, String> {
    let Format::Python { question, answer, reward, tags, .. } = format else {
        return Err("the format has no reward".to_owned());
    };
    let canonical = answer.as_deref().filter(|name| line.has(name)).map(|name| line.plain(name));
    Ok(BenchmarkRow {
        task_id,
        question: self::question(line, line.first(question)?)?,
        canonical: canonical.transpose()?,
        oracle: reward.oracle(line.object()?),
        tags: line.tags(tags)?,
    })
}

/// The correct answer.
pub(super) fn answer(line: &Line, gold: &Gold) -> Result<String, String> {
    let boxed = Gold { field: gold.or_boxed.clone().unwrap_or_default(), boxed: true, ..Gold::default() };
    let gold = if gold.or_boxed.is_some() && !line.has(&gold.field) { &boxed } else { gold };
    let name = &gold.field;
    let text = match answers(line, name)? {
        None => line.plain(name)?,
        Some(answers) => match answers.as_slice() {
            [] => return Err(format!("field `{name}` has no answer")),
            [only] => only.clone(),
            [first, ..] if gold.first => first.clone(),
            [_, _, ..] => {
                return Err(format!(
                    "field `{name}` has {} answers: set `gold_first` to take the first of them",
                    answers.len()
                ));
            }
        },
    };
    let found = match (&gold.after, gold.boxed) {
        (Some(mark), _) => {
            let (_, after) = text
                .rsplit_once(mark.as_str())
                .ok_or_else(|| format!("field `{name}` has no `{mark}` before an answer"))?;
            after
        }
        (None, true) => {
            last_boxed(&text).ok_or_else(|| format!("field `{name}` has no \\boxed{{}} around an answer"))?
        }
        (None, false) => &text,
    };
    let found = found.trim();
    let bare = found.strip_prefix('$').and_then(|inside| inside.strip_suffix('$'));
    let found = bare.filter(|inside| !inside.contains('$')).unwrap_or(found).trim();
    match found {
        none if gold.none.iter().any(|word| word == none) => {
            Err(format!("field `{name}` is `{none}`, so the row has no answer to compare with"))
        }
        "" => Err(format!("field `{name}` has no answer")),
        found => Ok(found.to_owned()),
    }
}

/// The answers in a list of texts or in one of a number, which may be written as JSON in a text; nothing if the column is none.
fn answers(line: &Line, name: &str) -> Result<Option<Vec<String>>, String> {
    let raw = line.raw(name).ok_or_else(|| line.missing(name))?;
    Ok(match raw.as_bytes().first() {
        Some(b'[') => Some(match line.elements(name)?.as_slice() {
            [number] if number.parse::<f64>().is_ok() => vec![number.clone()],
            [first, ..] if first.parse::<f64>().is_ok() => {
                return Err(format!(
                    "field `{name}` is a list of numbers, which could be an interval or several answers: write it as a text"
                ));
            }
            _ => line.get(name).map_err(|_| format!("field `{name}` is a list of neither texts nor one number"))?,
        }),
        Some(b'"') => serde_json::from_str(&line.text(name)?).ok(),
        _ => None,
    })
}

/// A message, as chat templates and ShareGPT name its parts.
#[derive(Deserialize)]
struct Message {
    #[serde(alias = "from")]
    role: String,
    #[serde(alias = "value")]
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A part of a message; a picture has no text.
#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// The question in a column: a text, or the last message of the user in a conversation, which may also be written as JSON
/// in a text. A system message is no question, and only some rows of a file may have one.
pub(super) fn question(line: &Line, name: &str) -> Result<String, String> {
    if let Some(message) = name.strip_suffix(".content")
        && let Ok(role) = line.text(&format!("{message}.role"))
        && !is_user(&role)
    {
        let list = message.rsplit_once('.').map_or(message, |(list, _)| list);
        return Err(format!(
            "field `{name}` is the message of the {role}, not the user's: name the column `{list}`, of which the user's last \
             message is taken"
        ));
    }
    let raw = line.raw(name).ok_or_else(|| line.missing(name))?;
    let messages = match raw.as_bytes().first() {
        Some(b'[') => {
            serde_json::from_str(&raw).map_err(|error| format!("field `{name}` is no conversation: {error}"))?
        }
        _ => {
            let text = line.filled(name)?;
            let conversation = text.trim_start().starts_with('[').then(|| serde_json::from_str(&text).ok());
            match conversation.flatten() {
                Some(messages) => messages,
                None => return Ok(text),
            }
        }
    };
    last_of_user(messages)
        .filter(|text| !text.trim().is_empty())
        .ok_or_else(|| format!("field `{name}` has no message of the user"))
}

fn is_user(role: &str) -> bool {
    matches!(role, "user" | "human")
}

fn last_of_user(messages: Vec<Message>) -> Option<String> {
    let last = messages.into_iter().rfind(|message| is_user(&message.role))?;
    Some(match last.content {
        Content::Text(text) => text,
        Content::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
    })
}

// Rows for verl: a conversation in `prompt`, and in `reward_model.ground_truth` the answer, or tests of a program.

const TRUTH: &str = "reward_model.ground_truth";

pub(super) fn verl(line: &Line, task_id: String, tags: &[String]) -> Result<BenchmarkRow, String> {
    let question = self::question(line, "prompt")?;
    let (oracle, canonical) = match tests(line)? {
        Some(tests) => (tests, None),
        None => {
            let gold = answer(line, &Gold { field: TRUTH.to_owned(), first: true, ..Gold::default() })?;
            (Question::Math { gold: gold.clone() }, Some(gold))
        }
    };
    Ok(BenchmarkRow { task_id, question, canonical, oracle, tags: line.tags(tags)? })
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
    let lines = value.as_array().map(|lines| lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    match (value, lines.flatten()) {
        (Value::String(text), _) => Ok(text.clone()),
        (_, Some(lines)) => Ok(lines.join("\n")),
        _ => Err(format!("field `{TRUTH}` has an input or output that is neither a text nor a list of lines")),
    }
}
