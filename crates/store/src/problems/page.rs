//! Lists of problems.

use lyceum_core::id::{ExecutionId, MemberId};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use super::{
    Problem,
    row::{BRIEF, FULL, LEFT_OUT},
    search::Search,
};
use crate::{
    Result,
    page::{Key, Keyed, Page, Window},
};

/// Selects problems.
#[derive(Clone, Debug, Default)]
pub struct ProblemFilter {
    pub step: Option<u32>,
    pub problem_type: Option<String>,
    /// Valid or invalid ones.
    pub valid: Option<bool>,
    pub status: Option<String>,
    pub proposer: Option<MemberId>,
    /// In this cell of the archive.
    pub cell: Option<u32>,
    /// With at least this solve rate.
    pub solve_rate_min: Option<f32>,
    /// With at most this solve rate.
    pub solve_rate_max: Option<f32>,
    /// With these words in program or reason.
    pub text: Option<String>,
    /// Minimum and maximum of AST depth, cyclomatic complexity, lines and variables.
    pub complexity: [(Option<f32>, Option<f32>); 4],
    /// With prompt, proposal, values and parts of the reward.
    pub full: bool,
}

/// How a list of problems is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemSort {
    /// By age, in the window's order.
    #[default]
    Age,
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

/// Problems of `run` that fit `filter`.
pub async fn page(
    db: &PgPool,
    run: ExecutionId,
    filter: &ProblemFilter,
    sort: ProblemSort,
    window: &Window,
) -> Result<Page<Problem>> {
    let search = Search {
        run: Some(run),
        filter,
        sort,
        window,
        columns: format!("{BRIEF}, {}", if filter.full { FULL } else { LEFT_OUT }),
        join: "",
    };
    search.page(db).await
}

/// A problem of any run.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct FoundProblem {
    pub run_id: Uuid,
    /// The run's name.
    pub run: String,
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub problem: Problem,
}

impl Keyed for FoundProblem {
    fn key(&self) -> Key {
        Key {
            value: None,
            seq: self.problem.seq,
        }
    }
}

/// Problems of all runs that fit `filter`, by age, without long fields.
pub async fn page_of_all_runs(db: &PgPool, filter: &ProblemFilter, window: &Window) -> Result<Page<FoundProblem>> {
    let brief: Vec<String> = BRIEF
        .split(',')
        .map(|column| format!("problems.{}", column.trim()))
        .collect();
    let search = Search {
        run: None,
        filter,
        sort: ProblemSort::Age,
        window,
        columns: format!("problems.run_id, r.name AS run, {}, {LEFT_OUT}", brief.join(", ")),
        join: "JOIN runs r ON r.id = problems.run_id",
    };
    search.page(db).await
}
