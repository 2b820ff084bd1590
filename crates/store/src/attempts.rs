//! Attempts: answers of members to problems.

mod answers;
mod page;
mod row;
mod span;
mod write;

pub use answers::{Answers, answers};
pub use page::{AttemptFilter, page};
pub use row::Attempt;
pub(crate) use write::write;
