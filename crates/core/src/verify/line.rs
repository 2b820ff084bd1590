//! One line of a task file.

use serde_json::Value;

use super::python_json::finite_spelling;
use super::task::Task;

/// The line cannot be read as a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct LineError {
    /// The line's id, if at least that can be read.
    pub id: Option<String>,
    /// What is wrong and what would be valid.
    pub reason: String,
}

/// Reads one line of JSON. Python's `Infinity` is accepted, because EvalPlus's data contains it.
///
/// # Errors
/// The line is not UTF-8, not JSON, or not a task.
pub fn read_line(line: &[u8]) -> Result<Task, LineError> {
    let text = std::str::from_utf8(line).map_err(|error| LineError {
        id: None,
        reason: format!("the line is not UTF-8: {error}"),
    })?;
    let error = match serde_json::from_str(text) {
        Ok(task) => return Ok(task),
        Err(error) => error,
    };
    if let Some(text) = finite_spelling(text)
        && let Ok(task) = serde_json::from_str(&text)
    {
        return Ok(task);
    }
    let id = serde_json::from_str::<Value>(text)
        .ok()
        .and_then(|value| value["id"].as_str().map(str::to_owned));
    let reason = match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("the line is not JSON: {error}"),
    };
    Err(LineError { id, reason })
}
