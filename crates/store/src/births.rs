//! Births, with their parents.

mod page;
mod write;

pub use page::{Birth, Parent, page};
pub(crate) use write::write;
