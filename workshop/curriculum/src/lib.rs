//! The curricula of the small base models. For `models/seedling`: random typed Python programs at graded levels of
//! difficulty, run by the verifier for their true outputs, and written as proposals and solutions of the three problem
//! types; plus a tokenizer for them. For `models/seedling-math`: [`arithmetic`]. They contain no external text.

pub mod arithmetic;
mod body;
pub mod corpus;
pub mod execute;
mod expr;
mod grammar;
pub mod masked;
pub mod message;
pub mod program;
pub mod sample;
pub mod steps;
pub mod tokenizer;
pub mod trace;
mod unigram;

pub use corpus::{Corpus, CorpusSpec};
pub use execute::{Executed, arguments};
pub use expr::Type;
pub use program::{Level, Program};
pub use sample::{Part, Sample, StoneTask, TaskKind};
