//! Problems of a run, and of all runs.

mod search;

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use self::search::Search;
use super::{Key, Page, Window, window::Keyed};
use crate::{Result, StoreError};

/// A problem. A list leaves out what is long unless it is asked for in full.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The problem.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step that it was proposed in.
    pub step: i32,
    /// Its place within the step, from 0.
    pub index: i32,
    /// Who proposed it; none for a row of a dataset.
    pub proposer_id: Option<Uuid>,
    /// By which weights.
    pub version_id: Option<Uuid>,
    /// What sort of problem it is, such as `code_o`.
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    pub problem_type: String,
    /// Whether it may be attempted.
    pub valid: bool,
    /// What the verifier met: `ok`, `malformed`, `error`, `timeout`, `memory`, `nondeterministic`, `unsafe` or
    /// `unserialisable`.
    pub status: String,
    /// The same, said to a person.
    pub reason: String,
    /// Its program.
    pub program: Option<String>,
    /// Nesting depth of the program's syntax tree.
    pub ast_depth: Option<f32>,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Lines of code.
    pub loc: Option<f32>,
    /// Distinct variables.
    pub variables: Option<f32>,
    /// The cell of the archive that it falls into.
    pub cell: Option<i32>,
    /// Share of the attempts that solved it; none where it was not attempted.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: i32,
    /// What its proposer got.
    pub reward: Option<f32>,
    /// When it was written down.
    pub created_at: DateTime<Utc>,
    /// What the proposer was asked; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What it answered, unparsed; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Inputs, outputs and message; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub values: Option<serde_json::Value>,
    /// The parts that the reward was made of, by name; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub reward_parts: Option<serde_json::Value>,
}

/// What a problem came from, or what came from it.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProblemParent {
    /// The problem that came of it.
    pub problem_id: Uuid,
    /// The problem that it came from.
    pub parent_id: Uuid,
    /// What the earlier is to the later: `reference`, `goalpost` or `lemma`.
    pub relation: String,
}

/// Which problems.
#[derive(Clone, Debug, Default)]
pub struct ProblemFilter {
    /// Of this step.
    pub step: Option<u32>,
    /// Of this type.
    pub problem_type: Option<String>,
    /// Those that are valid, or those that are not.
    pub valid: Option<bool>,
    /// Those at which the verifier met this.
    pub status: Option<String>,
    /// By this proposer.
    pub proposer: Option<MemberId>,
    /// In this cell of the archive.
    pub cell: Option<u32>,
    /// Solved by at least this share of the attempts.
    pub solve_rate_min: Option<f32>,
    /// Solved by at most this share of the attempts.
    pub solve_rate_max: Option<f32>,
    /// With these words in program or reason.
    pub text: Option<String>,
    /// Whose AST depth, cyclomatic complexity, lines and variables are at least and at most this.
    pub complexity: [(Option<f32>, Option<f32>); 4],
    /// With prompt, proposal, values and parts of the reward.
    pub full: bool,
}

/// By what a list of problems is sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProblemSort {
    /// By age; the window says which way.
    #[default]
    Age,
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

impl Keyed for Problem {
    fn key(&self) -> Key {
        Key {
            value: self.solve_rate,
            seq: self.seq,
        }
    }
}

const BRIEF: &str = "id, seq, step, index, proposer_id, version_id, type, valid, status, reason, program, ast_depth,
    cyclomatic, loc, variables, cell, solve_rate, attempts, reward, created_at";
const FULL: &str = "prompt, proposal, \"values\", reward_parts";
const LEFT_OUT: &str =
    "NULL::text AS prompt, NULL::text AS proposal, NULL::json AS \"values\", NULL::jsonb AS reward_parts";

/// Problems of `run` that fit `filter`.
pub async fn problems(
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
    /// The run.
    pub run_id: Uuid,
    /// The run's name.
    pub run: String,
    /// The problem.
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

/// Problems of all runs that fit `filter`, by age, in brief.
pub async fn problems_of_all_runs(db: &PgPool, filter: &ProblemFilter, window: &Window) -> Result<Page<FoundProblem>> {
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

/// Problems of `run` by their ids, in brief, in no order.
pub async fn problems_by_id(db: &PgPool, run: ExecutionId, ids: &[Uuid]) -> Result<Vec<Problem>> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {LEFT_OUT} FROM problems WHERE run_id = "));
    query
        .push_bind(run.0)
        .push(" AND id = ANY(")
        .push_bind(ids.to_vec())
        .push(")");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// One problem in full.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn problem(db: &PgPool, run: ExecutionId, id: ProblemId) -> Result<Problem> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {FULL} FROM problems WHERE run_id = "));
    query.push_bind(run.0).push(" AND id = ").push_bind(id.0);
    let problem = query.build_query_as().fetch_optional(db).await?;
    problem.ok_or_else(|| StoreError::not_found("problem", id))
}

/// What a problem came from, and what came from it; at most a thousand of each.
pub async fn problem_parents(db: &PgPool, id: ProblemId) -> Result<Vec<ProblemParent>> {
    Ok(sqlx::query_as(
        "(SELECT problem_id, parent_id, relation FROM problem_parents WHERE problem_id = $1 LIMIT 1000)
         UNION ALL
         (SELECT problem_id, parent_id, relation FROM problem_parents WHERE parent_id = $1 LIMIT 1000)",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?)
}
