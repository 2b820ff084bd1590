//! Tasks for a function with code that tests it, such as MBPP's assertions.

use super::{line::Line, messages, python};
use crate::benchmark::{BenchmarkRow, Question, extract::defines_function, format::Format};

pub(super) fn row(line: &Line, task_id: String, format: &Format) -> Result<BenchmarkRow, String> {
    let Format::Tests {
        question,
        tests,
        entry_point,
        setup,
        solution,
        shows_first_test,
        tags,
        ..
    } = format
    else {
        return Err("this is not a format of tested functions".to_owned());
    };
    let question = messages::question(line, line.first(question)?)?;
    let asserted = statements(line, tests)?;
    let Some(first) = asserted.first() else {
        return Err(format!("field `{tests}` has no test"));
    };
    let solution = match solution {
        Some(column) if line.has(column) => Some(line.text(column)?),
        _ => None,
    };
    let entry_point = match entry_point {
        Some(column) if line.has(column) => line.filled(column)?,
        _ => python::function_under_test(&asserted.join("\n"), solution.as_deref()).ok_or_else(|| {
            format!("field `{tests}` calls no function that could be the entry point: name a column for `entry_point`")
        })?,
    };
    let question = match defines_function(&question, &entry_point) {
        true => question,
        false if *shows_first_test => python::docstring(&format!("{}\n{}", question.trim(), first.trim())),
        false => python::docstring(question.trim()),
    };
    let mut test = Vec::new();
    for column in setup.iter().filter(|column| line.has(column)) {
        test.extend(statements(line, column)?);
    }
    test.extend(asserted);
    Ok(BenchmarkRow {
        task_id,
        question,
        canonical: solution,
        oracle: Question::Script {
            entry_point,
            test: test.join("\n"),
        },
        tags: line.tags(tags)?,
    })
}

/// The Python code of a column: a text, or a list of statements. Blank ones are left out.
fn statements(line: &Line, column: &str) -> Result<Vec<String>, String> {
    let is_list = line.raw(column).is_some_and(|raw| raw.starts_with('['));
    let all: Vec<String> = match is_list {
        true => line.get(column)?,
        false => vec![line.text(column)?],
    };
    Ok(all.into_iter().filter(|code| !code.trim().is_empty()).collect())
}
