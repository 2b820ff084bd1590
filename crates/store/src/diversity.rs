//! Questions whose diversity was measured, and their embeddings.

mod questions;
mod vectors;

pub use questions::{Question, measured, questions};
pub use vectors::{StoredVectors, vectors};
