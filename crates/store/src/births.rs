//! Births: who was born of whom.

mod page;
mod write;

pub use page::{Birth, Parent, page};
pub(crate) use write::write;
