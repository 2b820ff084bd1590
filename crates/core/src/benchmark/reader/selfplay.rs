//! Self-play problems with known answers, as written by `lyceum-workshop held-out`.

use super::{line::Line, triple::Triple};
use crate::{
    benchmark::BenchmarkRow,
    verify::{CodePair, ProblemKind},
};

pub(super) fn row(line: &Line) -> Result<BenchmarkRow, String> {
    problem(line, line.filled("task_id")?)
}

pub(super) fn problem(line: &Line, task_id: String) -> Result<BenchmarkRow, String> {
    let problem: ProblemKind = line.get("type")?;
    let program = line.filled("program")?;
    let triple = match problem {
        ProblemKind::CodeO => {
            let input = line.text("input")?;
            Triple::output(program, input, Some(line.filled("output")?))
        }
        ProblemKind::CodeI => {
            let output = line.filled("output")?;
            Triple::input(program, Some(line.text("input")?), output)
        }
        ProblemKind::CodeF => {
            let message = line.filled("message")?;
            let pairs: Vec<CodePair> = line.get("pairs")?;
            if pairs.is_empty() {
                return Err("field `pairs` has no input/output pair".to_owned());
            }
            Triple::function(message, pairs, Some(program))
        }
        ProblemKind::Math | ProblemKind::Code => {
            let valid = ProblemKind::TRIPLES.map(ProblemKind::name).join(", ");
            return Err(format!("field `type` is `{}`: {valid} are valid here", problem.name()));
        }
    };
    let mut tags = std::collections::BTreeMap::new();
    if line.has("level") {
        tags.insert("level".to_owned(), line.plain("level")?);
    }
    Ok(triple.row(task_id, tags))
}
