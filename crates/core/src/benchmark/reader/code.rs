//! Rows of programming benchmarks, by format.

use serde::Deserialize;

use super::line::Line;
use super::{python, questions};
use crate::benchmark::extract::defines_function;
use crate::benchmark::format::Format;
use crate::benchmark::{BenchmarkRow, Question};
use crate::verify::Tolerance;

// Tasks for a function with code that tests it, such as MBPP's assertions.

pub(super) fn tested(line: &Line, task_id: String, format: &Format) -> Result<BenchmarkRow, String> {
    let Format::Tests { question, tests, entry_point, setup, solution, shows_first_test, tags, .. } = format else {
        return Err("this is not a format of tested functions".to_owned());
    };
    let question = questions::question(line, line.first(question)?)?;
    let asserted = statements(line, tests)?;
    let Some(first) = asserted.first() else { return Err(format!("field `{tests}` has no test")) };
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
        oracle: Question::Script { entry_point, test: test.join("\n") },
        tags: line.tags(tags)?,
    })
}

/// The Python code of a column: a text, or a list of statements. Blank ones are left out.
fn statements(line: &Line, column: &str) -> Result<Vec<String>, String> {
    let is_list = line.raw(column).is_some_and(|raw| raw.starts_with('['));
    let all: Vec<String> = if is_list { line.get(column)? } else { vec![line.text(column)?] };
    Ok(all.into_iter().filter(|code| !code.trim().is_empty()).collect())
}

pub(super) fn humaneval(line: &Line) -> Result<BenchmarkRow, String> {
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

// EvalPlus' rows: HumanEval+ and MBPP+. Its files have no expected outputs; the reference program computes them.

pub(super) fn evalplus(line: &Line) -> Result<BenchmarkRow, String> {
    let task_id = line.filled("task_id")?;
    let prompt = line.filled("prompt")?;
    let entry_point = line.filled("entry_point")?;
    let reference = format!("{prompt}{}", line.text("canonical_solution")?);
    let base_inputs = line.elements("base_input")?;
    let plus_inputs = line.elements("plus_input")?;
    if base_inputs.is_empty() {
        return Err("field `base_input` has no inputs".to_owned());
    }
    let atol: f64 = line.get("atol")?;
    if Tolerance::new(atol).is_none() {
        return Err(format!("field `atol` is {atol}; it must be finite and not negative"));
    }
    Ok(BenchmarkRow {
        task_id,
        question: prompt,
        canonical: Some(reference.clone()),
        oracle: Question::Reference { entry_point, reference, base_inputs, plus_inputs, atol },
        tags: Default::default(),
    })
}

// LiveCodeBench's rows, of any release, within a window of contest dates.

/// The contest dates to keep, both ends included. Only LiveCodeBench has dates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first day.
    pub from: Option<String>,
    /// The last day.
    pub to: Option<String>,
}

/// The text is not a date.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a date like 2024-10-01")]
pub struct NotADate(String);

impl Window {
    /// The window from one day to another.
    ///
    /// # Errors
    /// A text is not a date.
    pub fn new(from: Option<&str>, to: Option<&str>) -> Result<Self, NotADate> {
        let day = |text: Option<&str>| text.map(day).transpose();
        Ok(Self { from: day(from)?, to: day(to)? })
    }

    /// Whether the window excludes nothing.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn takes(&self, line: &Line) -> Result<bool, String> {
        if self.is_open() {
            return Ok(true);
        }
        let date = date(line)?;
        // Dates in this format sort as text.
        Ok(self.from.as_ref().is_none_or(|from| *from <= date) && self.to.as_ref().is_none_or(|to| date <= *to))
    }
}

fn day(text: &str) -> Result<String, NotADate> {
    let bytes = text.as_bytes();
    let has_form = bytes.len() == 10
        && bytes.iter().enumerate().all(
            |(at, byte)| {
                if matches!(at, 4 | 7) { *byte == b'-' } else { byte.is_ascii_digit() }
            },
        );
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    let is_day = has_form
        && number(5..7).is_some_and(|month| (1..=12).contains(&month))
        && number(8..10).is_some_and(|day| (1..=31).contains(&day));
    if is_day { Ok(text.to_owned()) } else { Err(NotADate(text.to_owned())) }
}

fn date(line: &Line) -> Result<String, String> {
    let text = line.filled("contest_date")?;
    let date = text.get(..10).and_then(|text| day(text).ok());
    date.ok_or_else(|| format!("field `contest_date` is `{text}`, which does not begin with a date like 2024-10-01"))
}

/// A test case; only its format is checked here.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum TestType {
    Stdin,
    Functional,
}

#[derive(Deserialize)]
struct TestCase {
    #[serde(rename = "input")]
    _input: String,
    #[serde(rename = "output")]
    _output: String,
    testtype: TestType,
}

pub(super) fn livecodebench(line: &Line) -> Result<BenchmarkRow, String> {
    let task_id = line.filled("question_id")?;
    let question = line.filled("question_content")?;
    let public = line.text("public_test_cases")?;
    let cases: Vec<TestCase> =
        serde_json::from_str(&public).map_err(|error| format!("field `public_test_cases`: {error}"))?;
    let private = line.optional_text("private_test_cases")?;
    if cases.is_empty() && private.is_none() {
        return Err("neither `public_test_cases` nor `private_test_cases` has a test".to_owned());
    }
    let metadata: serde_json::Value = match line.optional_text("metadata")? {
        Some(text) => serde_json::from_str(&text).map_err(|error| format!("field `metadata`: {error}"))?,
        None => serde_json::Value::Null,
    };
    let entry_point = metadata["func_name"].as_str().map(str::to_owned);
    if entry_point.is_none() && cases.iter().any(|case| matches!(case.testtype, TestType::Functional)) {
        return Err("field `metadata` has no `func_name`, although the tests are functional".to_owned());
    }
    let mut tags = std::collections::BTreeMap::from([("contest_date".to_owned(), date(line)?)]);
    for name in ["platform", "difficulty"] {
        tags.extend(line.optional_text(name)?.map(|value| (name.to_owned(), value)));
    }
    let title = line.optional_text("question_title")?.unwrap_or_default();
    Ok(BenchmarkRow {
        task_id,
        question: if title.is_empty() { question } else { format!("{title}\n\n{question}") },
        canonical: None,
        oracle: Question::LiveCodeBench {
            entry_point,
            starter_code: line.optional_text("starter_code")?.unwrap_or_default(),
            public_test_cases: Some(public),
            private_test_cases: private,
        },
        tags,
    })
}
