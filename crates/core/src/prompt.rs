//! Prompts: rendering tasks for a model and reading its completions.
//!
//! A set has templates by name, a grammar that reads completions, and a style. A recipe declares the templates it
//! renders ([`Template`]) and the fields it reads ([`Field`]), so a new recipe needs no change here. The sets of
//! `configs/prompts` are built in; a resolved run config contains its templates in full, with their hashes.

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

pub use self::{
    code::{CODE_TEMPLATES, Reference, task_name},
    config::{PromptConfig, Style, shipped_sets},
    grammar::{Answer, Field, Grammar, ProposalText, Take, compact_literal},
    reading::{Format, Reading},
    set::{PromptError, PromptSet, Rendered},
    size::Size,
    template::{Sample, Template, Variable},
};
