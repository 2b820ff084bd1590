//! The curriculum of the seedling, a small base model: random typed Python programs at graded levels of difficulty, run
//! by the verifier for their true outputs, and written as proposals and solutions of the three problem types; plus a
//! tokenizer for them. It contains no external text.

mod batch;
mod body;
mod candidates;
pub mod corpus;
pub mod execute;
mod expr;
mod grammar;
mod inputs;
pub mod masked;
pub mod message;
pub mod program;
pub mod sample;
pub mod tokenizer;
pub mod trace;
mod types;

pub use corpus::{Corpus, CorpusSpec};
pub use execute::Executed;
pub use inputs::arguments;
pub use program::{Level, Program};
pub use sample::{Part, Sample, TaskKind};
pub use types::Type;
