//! Problems that proposers start from.

use serde::{Deserialize, Serialize};

use super::row::check_python;

/// A row of a seed file, with Absolute Zero's field names. Outputs are not read: they are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedProblem {
    /// A program with a function `f`.
    pub snippet: String,
    /// One argument list: a seed for `code_i` and for `code_o`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Several argument lists: a seed for `code_f`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// The description for the solver of a `code_f` problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl SeedProblem {
    /// Whether it has what a problem of any type is made of.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        if self.snippet.trim().is_empty() {
            return Err("field `snippet` is empty".to_owned());
        }
        check_python("snippet", &self.snippet)?;
        if self.input.is_none() && (self.inputs.len() < 2 || self.message.is_none()) {
            return Err("a seed has `input`, or at least two `inputs` and a `message`".to_owned());
        }
        Ok(())
    }
}
