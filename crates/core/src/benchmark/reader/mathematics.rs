//! Mathematics questions; the suite's description names the fields.

use super::line::Line;
use crate::{
    answer::last_boxed,
    benchmark::{BenchmarkRow, Question, suite::Gold},
};

pub(super) fn row(
    suite: &str,
    line: &Line,
    index: usize,
    question: &[String],
    gold: &Gold,
    ids: &[String],
    tags: &[String],
) -> Result<BenchmarkRow, String> {
    let Some(field) = question.iter().find(|name| line.has(name)) else {
        return Err(format!("missing field `{}`", question.join("` or `")));
    };
    let gold = answer(line, gold)?;
    let id = match ids.iter().find(|name| line.has(name)) {
        Some(name) => line.plain(name)?,
        None => index.to_string(),
    };
    let tags = tags.iter().filter(|name| line.has(name));
    Ok(BenchmarkRow {
        task_id: format!("{suite}/{id}"),
        question: line.filled(field)?,
        canonical: Some(gold.clone()),
        oracle: Question::Math { gold },
        tags: tags
            .map(|name| Ok((name.clone(), line.plain(name)?)))
            .collect::<Result<_, String>>()?,
    })
}

fn answer(line: &Line, gold: &Gold) -> Result<String, String> {
    let name = &gold.field;
    let text = if gold.first {
        let answers: Vec<String> = line.get(name)?;
        answers
            .into_iter()
            .next()
            .ok_or_else(|| format!("field `{name}` has no answer"))?
    } else {
        line.plain(name)?
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
        "" => Err(format!("field `{name}` has no answer")),
        found => Ok(found.to_owned()),
    }
}
