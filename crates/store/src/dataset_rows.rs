//! Rows of a dataset in the runs that learn from them: their answers over time.

mod difficulty;
mod page;
mod write;

pub use difficulty::{DifficultyWindow, difficulty};
pub use page::{LatestAnswers, RowFilter, RowProgress, RowSort, page};
pub(crate) use write::write;
