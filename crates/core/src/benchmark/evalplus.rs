//! EvalPlus' files of samples: what `evalplus.evaluate --samples` reads.

use serde_json::{Value, json};

/// A line of such a file: a whole program for a task.
pub fn line(task_id: &str, solution: &str) -> Value {
    json!({ "task_id": task_id, "solution": solution })
}
