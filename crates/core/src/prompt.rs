//! Prompts: rendering tasks for a model and reading its completions.
//!
//! A set has templates by name, a grammar that reads completions, and a style. A recipe declares the templates it
//! renders ([`Template`]) and the fields it reads ([`Field`]), so a new recipe needs no change here. The sets of
//! `configs/prompts` are built in; a resolved run config contains its templates in full, with their hashes.

mod bounds;
mod code;
mod compact;
mod config;
mod faults;
mod fenced;
mod filters;
mod form;
mod grammar;
mod reading;
mod set;
mod shipped;
mod size;
mod spelling;
mod tagged;
mod template;

pub use code::{CODE_TEMPLATES, Reference, task_name};
pub use config::{PromptConfig, Style};
pub use form::{Field, Take};
pub use grammar::{Answer, Grammar, ProposalText};
pub use reading::{Format, Reading};
pub use set::{PromptError, PromptSet, Rendered};
pub use shipped::shipped_sets;
pub use size::Size;
pub use spelling::compact_literal;
pub use template::{Sample, Template, Variable};
