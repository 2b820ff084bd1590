//! Mathematics questions; the format names the columns.

use super::{line::Line, messages};
use crate::{
    answer::last_boxed,
    benchmark::{BenchmarkRow, Question, format::Gold},
};

pub(super) fn row(
    line: &Line,
    task_id: String,
    question: &[String],
    gold: &Gold,
    tags: &[String],
) -> Result<BenchmarkRow, String> {
    let question = messages::question(line, line.first(question)?)?;
    let gold = answer(line, gold)?;
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical: Some(gold.clone()),
        oracle: Question::Math { gold },
        tags: line.tags(tags)?,
    })
}

/// The correct answer.
pub(super) fn answer(line: &Line, gold: &Gold) -> Result<String, String> {
    let boxed = Gold {
        field: gold.or_boxed.clone().unwrap_or_default(),
        boxed: true,
        ..Gold::default()
    };
    let gold = if gold.or_boxed.is_some() && !line.has(&gold.field) {
        &boxed
    } else {
        gold
    };
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
        none if gold.none.iter().any(|word| word == none) => Err(format!(
            "field `{name}` is `{none}`, so the row has no answer to compare with"
        )),
        "" => Err(format!("field `{name}` has no answer")),
        found => Ok(found.to_owned()),
    }
}

/// The answers in a list of texts, which may be written as JSON in a text; nothing if the column is none.
fn answers(line: &Line, name: &str) -> Result<Option<Vec<String>>, String> {
    let raw = line.raw(name).ok_or_else(|| line.missing(name))?;
    Ok(match raw.as_bytes().first() {
        Some(b'[') => Some(line.get(name)?),
        // A list of numbers may be an interval.
        Some(b'"') => serde_json::from_str(&line.text(name)?).ok(),
        _ => None,
    })
}
