//! Evaluations.

mod begin;
mod page;

pub use begin::{NewEvaluation, begin};
pub use page::{
    Completed, Evaluation, EvaluationFilter, EvaluationProgress, MeasuredSuites, completed, find,
    first_measured_suites, page, parameters, progress,
};
