//! Stored problems of every kind, and what a solver sees of them.

mod part;
mod statement;
#[cfg(test)]
mod tests;
mod values;

pub use part::{Part, parts};
pub use statement::Statement;
pub use values::Values;
