//! Benchmarks: prompts, extraction and grading of answers, and scores.
//!
//! A [`Suite`] is one file of `configs/benchmarks`. Its reader turns the suite's own file into [`BenchmarkRow`]s; a row
//! and a [`PromptStyle`] make a prompt; a row and a completion make a [`Task`](crate::verify::Task) for the verifier;
//! verdicts make a [`Score`], and scores make the papers' table.

mod distribution;
pub mod evalplus;
mod extract;
pub mod format;
mod grade;
pub mod lm_eval;
mod pass_at_k;
mod prompt;
pub mod reader;
mod row;
mod sample_of_rows;
pub mod samples;
mod score;
mod spread;
mod suite;
mod suite_request;
mod table;

pub use distribution::{Distribution, Generalization, GeneralizationRow};
pub use extract::{code_of, mathematics_of};
pub use grade::{Graded, Submission, graded, task};
pub use pass_at_k::pass_at_k;
pub use prompt::{PromptStyle, UnknownPrompts, prompt_styles};
pub use row::{BenchmarkRow, Question};
pub use sample_of_rows::spread_rows;
pub use score::{CurvePoint, Score};
pub use spread::Spread;
pub use suite::{Group, Protocol, Suite, SuiteError, UnknownSuite, shipped_suites, suite};
pub use suite_request::{MAX_SAMPLES, SuiteChoice, SuiteRequest};
pub use table::{Average, Cell, Subject, SubjectRole, Summary, Table, TableRow};
