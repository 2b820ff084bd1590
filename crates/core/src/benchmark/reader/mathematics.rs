//! Mathematics questions; the format names the columns.

use super::line::Line;
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
    let question = line.filled(line.first(question)?)?;
    let gold = answer(line, gold)?;
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical: Some(gold.clone()),
        oracle: Question::Math { gold },
        tags: line.tags(tags)?,
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
