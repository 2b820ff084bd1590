//! LiveCodeBench's rows, of any release, within a window of contest dates.

use serde::Deserialize;

use super::line::Line;
use crate::benchmark::{BenchmarkRow, Question};

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
        Ok(Self {
            from: day(from)?,
            to: day(to)?,
        })
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
        && bytes.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 4 | 7) {
                *byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        });
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    let is_day = has_form
        && number(5..7).is_some_and(|month| (1..=12).contains(&month))
        && number(8..10).is_some_and(|day| (1..=31).contains(&day));
    if is_day {
        Ok(text.to_owned())
    } else {
        Err(NotADate(text.to_owned()))
    }
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

pub(super) fn row(line: &Line) -> Result<BenchmarkRow, String> {
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
        question: if title.is_empty() {
            question
        } else {
            format!("{title}\n\n{question}")
        },
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
