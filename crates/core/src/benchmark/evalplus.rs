//! EvalPlus' sample files, as read by `evalplus.evaluate --samples`.

use serde_json::{Value, json};

/// One line of the file: a whole program for a task.
pub fn line(task_id: &str, solution: &str) -> Value {
    json!({ "task_id": task_id, "solution": solution })
}
