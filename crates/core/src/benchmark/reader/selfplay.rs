//! Self-play problems with known answers, as written by `lyceum-workshop held-out`.

use super::line::Line;
use crate::{
    benchmark::{BenchmarkRow, Question},
    verify::{CodePair, ProblemKind},
};

pub(super) fn row(line: &Line) -> Result<BenchmarkRow, String> {
    problem(line, line.filled("task_id")?)
}

pub(super) fn problem(line: &Line, task_id: String) -> Result<BenchmarkRow, String> {
    let problem: ProblemKind = line.get("type")?;
    let program = line.filled("program")?;
    let (question, canonical, oracle) = match problem {
        ProblemKind::CodeO => {
            let input = line.text("input")?;
            let output = line.filled("output")?;
            (
                format!("{program}\n# f({input}) = ?"),
                output,
                Question::CodeO { program, input },
            )
        }
        ProblemKind::CodeI => {
            let output = line.filled("output")?;
            let input = line.text("input")?;
            (
                format!("{program}\n# f(?) = {output}"),
                input,
                Question::CodeI { program, output },
            )
        }
        ProblemKind::CodeF => {
            let message = line.filled("message")?;
            let pairs: Vec<CodePair> = line.get("pairs")?;
            if pairs.is_empty() {
                return Err("field `pairs` has no input/output pair".to_owned());
            }
            let shown: Vec<String> = pairs
                .iter()
                .map(|(input, output)| format!("f({input}) = {output}"))
                .collect();
            (
                format!("{message}\n{}", shown.join("\n")),
                program,
                Question::CodeF { message, pairs },
            )
        }
        ProblemKind::Math | ProblemKind::Code => {
            let valid = ProblemKind::TRIPLES.map(ProblemKind::name).join(", ");
            return Err(format!("field `type` is `{}`: {valid} are valid here", problem.name()));
        }
    };
    let mut tags = std::collections::BTreeMap::from([("type".to_owned(), problem.name().to_owned())]);
    if line.has("level") {
        tags.insert("level".to_owned(), line.plain("level")?);
    }
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical: Some(canonical),
        oracle,
        tags,
    })
}
