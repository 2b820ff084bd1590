//! Prompts: rendering tasks for a model and reading its completions.
//!
//! A set has templates by name, a grammar that reads completions, and a style. A recipe declares the templates it
//! renders ([`Template`]) and the fields it reads ([`Field`]), so a new recipe needs no change here. The sets of
//! `configs/prompts` are built in; a resolved run config contains its templates in full, with their hashes.

mod answer;
mod bounds;
mod code;
mod compact;
mod config;
mod fenced;
mod filters;
mod grammar;
mod reading;
mod set;
mod size;
mod tagged;
mod template;

pub use self::answer::{AnswerReading, FoundAnswer, ReadingRule};
pub(crate) use self::code::reads_code;
pub use self::code::{CODE_TEMPLATES, Reference, task_name};
pub(crate) use self::config::shipped_templates;
pub use self::config::{PromptConfig, Style, shipped_sets};
pub use self::grammar::{Answer, Field, Grammar, ProposalText, Take, compact_literal};
pub use self::reading::{Format, Reading};
pub use self::set::{PromptError, PromptSet, Reads, Rendered};
pub use self::size::Size;
pub use self::template::{Sample, Template, Templates, Variable};
