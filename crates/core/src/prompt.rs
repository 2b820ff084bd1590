//! Prompts: what a model is shown for a task, and how what it writes is read.
//!
//! A set is templates by name, a grammar that reads completions, and a style. A recipe declares the templates that it renders
//! ([`Template`]) and the fields that it reads ([`Field`]), so a new recipe changes nothing here. The sets of `configs/prompts`
//! are built in; a resolved run config holds its templates whole, with their hashes.

mod code;
mod compact;
mod config;
mod faults;
mod fenced;
mod form;
mod grammar;
mod reading;
mod set;
mod shipped;
mod size;
mod spelling;
mod tagged;
mod template;

pub use code::{CODE_TEMPLATES, Pair, Reference, task_name};
pub use config::{PromptConfig, Style};
pub use form::{Field, Take};
pub use grammar::{Answer, Grammar, ProposalText};
pub use reading::{Format, Reading};
pub use set::{PromptError, PromptSet, Rendered};
pub use shipped::shipped_sets;
pub use size::Size;
pub use spelling::compact_literal;
pub use template::{Sample, Template, Variable};
