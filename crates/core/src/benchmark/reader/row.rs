//! One row of a file, read as its format says.

use super::{evalplus, humaneval, line::Line, livecodebench, mathematics, selfplay, tested, triple, verl};
use crate::benchmark::{
    BenchmarkRow, Suite,
    format::{Expect, Format},
};

/// How the rows of a file are read: what a suite, a named format or a field map says of its columns.
#[derive(Clone, Copy, Debug)]
pub struct RowReader<'a> {
    /// What tasks are named after, as in `gsm8k/17`; without it they have the bare id.
    pub prefix: Option<&'a str>,
    /// The columns.
    pub format: &'a Format,
    /// What else a row must have.
    pub expect: &'a Expect,
}

impl<'a> RowReader<'a> {
    /// For a suite's own file.
    pub fn of(suite: &'a Suite) -> Self {
        Self {
            prefix: Some(&suite.name),
            format: &suite.format,
            expect: &suite.expect,
        }
    }

    /// Reads a JSON object. A task without a name is named by `index`, the row's number from 0.
    ///
    /// # Errors
    /// What is missing or malformed, by column.
    pub fn read(&self, text: &[u8], index: usize) -> Result<BenchmarkRow, String> {
        self.row(&Line::read(text)?, index)
    }

    pub(super) fn row(&self, line: &Line, index: usize) -> Result<BenchmarkRow, String> {
        let task_id = |ids: &[String]| {
            let id = match ids.iter().find(|name| line.has(name)) {
                Some(name) => line.plain(name)?,
                None => index.to_string(),
            };
            Ok::<_, String>(match self.prefix {
                Some(prefix) => format!("{prefix}/{id}"),
                None => id,
            })
        };
        let row = match self.format {
            Format::HumanEval {} => humaneval::row(line),
            Format::EvalPlus {} => evalplus::row(line),
            Format::LiveCodeBench {} => livecodebench::row(line),
            Format::Math {
                question,
                gold,
                id,
                tags,
            } => mathematics::row(line, task_id(id)?, question, gold, tags),
            Format::Tests { id, .. } => tested::row(line, task_id(id)?, self.format),
            Format::CodeO { id, .. } | Format::CodeI { id, .. } | Format::CodeF { id, .. } => {
                triple::row(line, task_id(id)?, self.format)
            }
            Format::Verl { tags } => verl::row(line, task_id(&[])?, tags),
            Format::SelfPlay {} => selfplay::row(line),
        }?;
        expected(self.expect, line)?;
        Ok(row)
    }
}

fn expected(expect: &Expect, line: &Line) -> Result<(), String> {
    for name in &expect.required {
        if !line.has(name) {
            return Err(line.missing(name));
        }
    }
    for name in &expect.absent {
        if line.has(name) {
            return Err(format!("field `{name}` does not belong to a row of this suite"));
        }
    }
    for name in &expect.numeric {
        let text = line.plain(name)?;
        if text.trim().parse::<f64>().is_err() {
            return Err(format!("field `{name}` is `{text}`; in this suite it must be a number"));
        }
    }
    let said = |name: &str| line.has(name).then(|| line.plain(name)).transpose();
    for name in &expect.empty {
        if let Some(text) = said(name)?.filter(|text| !text.is_empty()) {
            return Err(format!("field `{name}` is `{text}`; in this suite it must be empty"));
        }
    }
    for (name, start) in &expect.prefix {
        if let Some(text) = said(name)?.filter(|text| !text.starts_with(start)) {
            return Err(format!(
                "field `{name}` is `{text}`; in this suite it must begin with `{start}`"
            ));
        }
    }
    for (name, part) in &expect.contains {
        if let Some(text) = said(name)?.filter(|text| !text.contains(part)) {
            return Err(format!(
                "field `{name}` is `{text}`; in this suite it must contain `{part}`"
            ));
        }
    }
    Ok(())
}
