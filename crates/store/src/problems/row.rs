//! A problem's row.

use chrono::{DateTime, Utc};
use lyceum_core::{
    id::{ExecutionId, ProblemId},
    recipe::ParentRelation,
    verify::Status,
};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result, StoreError,
    page::{Key, Keyed},
};

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
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: Status,
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

impl Keyed for Problem {
    fn key(&self) -> Key {
        Key {
            value: self.solve_rate,
            seq: self.seq,
        }
    }
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
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub relation: ParentRelation,
}

pub(super) const BRIEF: &str =
    "id, seq, step, index, proposer_id, version_id, type, valid, status, reason, program, ast_depth,
    cyclomatic, loc, variables, cell, solve_rate, attempts, reward, created_at";
pub(super) const FULL: &str = "prompt, proposal, \"values\", reward_parts";
pub(super) const LEFT_OUT: &str =
    "NULL::text AS prompt, NULL::text AS proposal, NULL::json AS \"values\", NULL::jsonb AS reward_parts";

/// Problems of `run` by their ids, in brief, in no order.
pub async fn by_ids(db: &PgPool, run: ExecutionId, ids: &[Uuid]) -> Result<Vec<Problem>> {
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
pub async fn find(db: &PgPool, run: ExecutionId, id: ProblemId) -> Result<Problem> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {FULL} FROM problems WHERE run_id = "));
    query.push_bind(run.0).push(" AND id = ").push_bind(id.0);
    let problem = query.build_query_as().fetch_optional(db).await?;
    problem.ok_or_else(|| StoreError::not_found("problem", id))
}

/// What a problem came from, and what came from it; at most a thousand of each.
pub async fn parents(db: &PgPool, id: ProblemId) -> Result<Vec<ProblemParent>> {
    Ok(sqlx::query_as(
        "(SELECT problem_id, parent_id, relation FROM problem_parents WHERE problem_id = $1 LIMIT 1000)
         UNION ALL
         (SELECT problem_id, parent_id, relation FROM problem_parents WHERE parent_id = $1 LIMIT 1000)",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?)
}
