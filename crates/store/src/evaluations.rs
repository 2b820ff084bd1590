//! Evaluations.

mod begin;
mod page;

pub use begin::{NewEvaluation, begin};
pub use page::{
    Evaluation, EvaluationFilter, EvaluationProgress, MeasuredSuites, find, first_measured_suites, page, parameters,
    progress,
};
