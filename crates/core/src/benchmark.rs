//! Benchmarks: prompts, extraction and grading of answers, and scores.
//!
//! A [`Suite`] is one file of `configs/benchmarks`. Its reader turns the suite's own file into [`BenchmarkRow`]s; a row
//! and a [`PromptStyle`] make a prompt; a row and a completion make a [`Task`](crate::verify::Task) for the verifier;
//! verdicts make a [`Score`], and scores make the papers' table.

pub mod export;
mod extract;
pub mod format;
mod grade;
mod needed;
mod prompt;
pub mod reader;
mod row;
pub mod samples;
mod score;
mod suite;
mod suite_request;
mod table;

pub use self::extract::{code_of, mathematics_of};
pub use self::grade::{Graded, Submission, graded, task};
pub use self::prompt::{PromptStyle, UnknownPrompts, prompt_styles};
pub use self::row::{BenchmarkRow, OwnOracle, OwnOracleType, Question};
pub use self::score::{CurvePoint, Distribution, Generalization, GeneralizationRow, Score, Spread, pass_at_k};
pub use self::suite::{Group, Protocol, Suite, SuiteError, UnknownSuite, shipped_suites, suite};
pub use self::suite_request::{MAX_SAMPLES, SuiteChoice, SuiteRequest, spread_rows};
pub use self::table::{Average, Cell, Subject, SubjectRole, Summary, Table, TableRow};
