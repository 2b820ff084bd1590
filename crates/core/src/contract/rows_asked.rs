//! The rows that a run asks, for checks before it begins.

use serde_json::Value;

use crate::{benchmark::PromptStyle, dataset::problem, id::DatasetId, work::Prompt};

/// Rows of a dataset that members answer, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsAsked {
    /// JSON pointer to the group of the config with the fields `dataset`, `prompts` and `sampling` for these rows.
    pub pointer: &'static str,
    pub dataset: DatasetId,
    /// How many rows are asked, from the first.
    pub rows: u32,
    /// How many of these are learned from, from the first; the others are held out.
    pub learned: u32,
    /// The style of their prompts.
    pub prompts: String,
    /// The most tokens of an answer.
    pub max_tokens: u32,
}

impl RowsAsked {
    /// The prompt for the row at `place`, in the style of [`RowsAsked::prompts`].
    ///
    /// # Errors
    /// The row is not a problem, or the style has no prompt for its kind.
    pub fn prompt(style: &PromptStyle, place: u32, row: &Value) -> Result<Prompt, String> {
        let row = problem(place as usize, row)?;
        style.render(&row).map_err(|_| {
            format!(
                "`{}` has no prompt for problems of type {}",
                style.name(),
                row.oracle.kind()
            )
        })
    }
}
