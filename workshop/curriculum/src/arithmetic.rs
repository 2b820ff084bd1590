//! The curriculum of `models/seedling-math`: arithmetic questions in several wordings at five levels, from one operation on
//! small numbers to several steps in words.
//!
//! Questions are drawn one at a time from a seed ([`Exercise`]), each with its meaning, so no corpus is stored. They are
//! written as the tasks of R-Zero and SAGE ([`Task`]) with the templates of `configs/prompts/seedling-math`, the ones that
//! a run renders: proposing a question with its answer, solving it directly or after working steps, planning, and
//! scoring. `lyceum_core::arithmetic` reads the same wordings back.

mod chain;
mod exercise;
mod flaw;
mod formula;
mod sample;
mod steps;
mod story;
mod tokenizer;

pub use exercise::{Exercise, Source};
pub use flaw::{Flawed, Quality, flawed_plan};
pub use sample::{Prompts, SampleSpec, Task, Weights, Writer};
pub use steps::{plan, plan_value, steps};
pub use tokenizer::{MARKERS, tokenizer_json};
