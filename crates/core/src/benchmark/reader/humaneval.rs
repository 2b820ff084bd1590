//! HumanEval's rows.

use super::line::Line;
use crate::benchmark::{BenchmarkRow, Question};

pub(super) fn row(line: &Line) -> Result<BenchmarkRow, String> {
    let task_id = line.filled("task_id")?;
    let prompt = line.filled("prompt")?;
    let entry_point = line.filled("entry_point")?;
    let test = line.filled("test")?;
    if !test.contains("check") {
        return Err("field `test` defines no `check(candidate)`".to_owned());
    }
    let canonical = line.optional_text("canonical_solution")?;
    Ok(BenchmarkRow {
        task_id,
        canonical: canonical.map(|rest| format!("{prompt}{rest}")),
        question: prompt,
        oracle: Question::Script { entry_point, test },
        tags: Default::default(),
    })
}
