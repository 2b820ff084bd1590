//! Prompts: what a model is shown for a task, and how what it writes is read.
//!
//! A set is six templates (propose and solve, by type of problem), a grammar that reads completions, and a style. The sets of
//! `configs/prompts` are built in; a resolved run config holds its templates whole, with their hashes.

mod compact;
mod config;
mod fenced;
mod grammar;
mod set;
mod shipped;
mod spelling;

pub use config::{PromptConfig, Style};
pub use grammar::{Answer, Grammar, ProposalText};
pub use set::{Pair, PromptError, PromptSet, Reference, Rendered, TASKS, task_name};
pub use shipped::shipped_sets;
pub use spelling::compact_literal;
