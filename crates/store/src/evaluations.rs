//! Evaluations.

mod begin;
mod page;

pub use begin::{NewEvaluation, begin};
pub use page::{Evaluation, EvaluationFilter, EvaluationProgress, find, page, parameters, progress};
