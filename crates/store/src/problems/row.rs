//! A problem's row.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::recipe::{ParentRelation, ProblemOutcomeRecord, ProblemRecord};
use lyceum_core::verify::{ProblemKind, Status};
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Key, Keyed};
use crate::steps::StepRef;
use crate::text::{json_text, storable};
use crate::{Result, StoreError};

/// A problem. Lists omit long fields unless full rows are requested.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Problem {
    /// The problem.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step in which it was proposed.
    pub step: i32,
    /// Its index within the step, from 0.
    pub index: i32,
    /// Its proposer; none for a row of a dataset.
    pub proposer_id: Option<Uuid>,
    /// The version of the proposer's weights.
    pub version_id: Option<Uuid>,
    /// Its type, such as `code_o`.
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    #[schema(value_type = String)]
    pub problem_type: ProblemKind,
    /// Whether it may be attempted.
    pub valid: bool,
    /// The verifier's status: `ok`, `malformed`, `error`, `timeout`, `memory`, `nondeterministic`, `unsafe` or
    /// `unserialisable`.
    #[schema(value_type = String)]
    pub status: Status,
    /// The status as text.
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
    /// Its cell in the archive.
    pub cell: Option<i32>,
    /// Share of the attempts that solved it; none without attempts.
    pub solve_rate: Option<f32>,
    /// Number of attempts.
    pub attempts: i32,
    /// Its proposer's reward.
    pub reward: Option<f32>,
    /// When it was written.
    pub created_at: DateTime<Utc>,
    /// The proposer's prompt; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The proposer's response, unparsed; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<String>,
    /// Inputs, outputs and message; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub values: Option<serde_json::Value>,
    /// The parts of the reward, by name; in full only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub reward_parts: Option<serde_json::Value>,
}

impl Keyed for Problem {
    fn key(&self) -> Key {
        Key { value: self.solve_rate, seq: self.seq }
    }
}

/// A relation between two problems.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct ProblemParent {
    /// The later problem.
    pub problem_id: Uuid,
    /// The earlier problem.
    pub parent_id: Uuid,
    /// The role of the earlier for the later: `reference`, `goalpost` or `lemma`.
    #[schema(value_type = String)]
    pub relation: ParentRelation,
}

pub(super) const BRIEF: &str =
    "id, seq, step, index, proposer_id, version_id, type, valid, status, reason, program, ast_depth,
    cyclomatic, loc, variables, cell, solve_rate, attempts, reward, created_at";
pub(super) const FULL: &str = "prompt, proposal, \"values\", reward_parts";
pub(super) const LEFT_OUT: &str =
    "NULL::text AS prompt, NULL::text AS proposal, NULL::json AS \"values\", NULL::jsonb AS reward_parts";

/// Problems of `run` with these ids, without long fields, unordered.
pub async fn by_ids(db: &PgPool, run: ExecutionId, ids: &[Uuid]) -> Result<Vec<Problem>> {
    let mut query = QueryBuilder::new(format!("SELECT {BRIEF}, {LEFT_OUT} FROM problems WHERE run_id = "));
    query.push_bind(run.0).push(" AND id = ANY(").push_bind(ids.to_vec()).push(")");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// The values of these problems, by id, in no order.
pub async fn values(db: &PgPool, ids: &[Uuid]) -> Result<Vec<(Uuid, serde_json::Value)>> {
    let query = sqlx::query_as("SELECT id, \"values\" FROM problems WHERE id = ANY($1)");
    Ok(query.bind(ids).fetch_all(db).await?)
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

/// The run and step of a problem.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn place(db: &PgPool, id: ProblemId) -> Result<(ExecutionId, u32)> {
    let row: Option<(Uuid, i32)> =
        sqlx::query_as("SELECT run_id, step FROM problems WHERE id = $1").bind(id.0).fetch_optional(db).await?;
    let (run, step) = row.ok_or_else(|| StoreError::not_found("problem", id))?;
    Ok((ExecutionId(run), step.cast_unsigned()))
}

/// The relations of a problem to earlier and later ones, at most a thousand each.
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

/// A problem in a chain of those that were made from each other.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize, ToSchema)]
pub struct Ancestor {
    /// The problem.
    pub id: Uuid,
    /// What it is for the next one in the chain; none for the last.
    #[schema(value_type = Option<String>)]
    pub relation: Option<ParentRelation>,
}

/// Maximum number of problems in a chain.
const CHAIN: i32 = 8;

/// The chain of problems from which one was made, the first one first and itself last: goalpost, lemma, lift, question. Only
/// itself if it was made from none.
pub async fn chain(db: &PgPool, id: ProblemId) -> Result<Vec<Ancestor>> {
    Ok(sqlx::query_as(
        "WITH RECURSIVE chain AS (
             SELECT $1::uuid AS id, NULL::text AS relation, 0 AS depth
             UNION ALL
             SELECT parent.parent_id, parent.relation, chain.depth + 1
             FROM chain JOIN LATERAL (
                 SELECT parent_id, relation FROM problem_parents
                 WHERE problem_id = chain.id AND relation <> 'reference' ORDER BY parent_id LIMIT 1) parent ON true
             WHERE chain.depth < $2
         ) SELECT id, relation FROM chain ORDER BY depth DESC",
    )
    .bind(id.0)
    .bind(CHAIN)
    .fetch_all(db)
    .await?)
}

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 1000;

/// Writes problems with their parents, and counts them on the run.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[ProblemRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let values = batch.iter().map(|record| json_text("problem", &record.values));
        let values = values.collect::<Result<Vec<String>>>()?;
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO problems (id, run_id, step, index, proposer_id, version_id, type, prompt,
             proposal, valid, status, reason, program, \"values\", ast_depth, cyclomatic, loc, variables, cell) ",
        );
        insert.push_values(batch.iter().zip(values), |mut row, (record, values)| {
            row.push_bind(record.id.0)
                .push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.index.cast_signed())
                .push_bind(record.proposer.map(|(member, _)| member.0))
                .push_bind(record.proposer.map(|(_, version)| version.0))
                .push_bind(record.kind)
                .push_bind(storable(&record.prompt))
                .push_bind(storable(&record.proposal))
                .push_bind(record.valid)
                .push_bind(record.status)
                .push_bind(storable(&record.reason))
                .push_bind(record.program.as_deref().map(storable))
                .push_bind(values)
                .push_unseparated("::text::json");
            for dimension in 0..4 {
                row.push_bind(record.descriptor.map(|descriptor| descriptor[dimension]));
            }
            row.push_bind(record.cell.map(u32::cast_signed));
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING valid)
             UPDATE runs SET problems = problems + n.all, valid_problems = valid_problems + n.valid
             FROM (SELECT count(*) AS all, count(*) FILTER (WHERE valid) AS valid FROM inserted) n WHERE id = ",
        );
        insert.push_bind(at.run.0);
        insert.build().execute(&mut *tx).await?;
    }
    let parents = records
        .iter()
        .flat_map(|record| record.parents.iter().map(move |(parent, relation)| (record.id, *parent, *relation)))
        .collect::<Vec<_>>();
    for batch in parents.chunks(BATCH) {
        let mut insert = QueryBuilder::new("INSERT INTO problem_parents (problem_id, parent_id, relation) ");
        insert.push_values(batch, |mut row, (problem, parent, relation): &(_, _, ParentRelation)| {
            row.push_bind(problem.0).push_bind(parent.0).push_bind(*relation);
        });
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}

pub(crate) async fn write_outcomes(tx: &mut PgConnection, records: &[ProblemOutcomeRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut update = QueryBuilder::new(
            "UPDATE problems p SET solve_rate = o.solve_rate, attempts = o.attempts, reward = o.reward,
             reward_parts = o.reward_parts FROM (",
        );
        update.push_values(batch, |mut row, record| {
            row.push_bind(record.problem.0);
            row.push_bind(record.solve_rate).push_unseparated("::real");
            row.push_bind(record.attempts.cast_signed()).push_bind(record.reward);
            row.push_bind(Json(&record.reward_parts)).push_unseparated("::jsonb");
        });
        update.push(") AS o (id, solve_rate, attempts, reward, reward_parts) WHERE p.id = o.id");
        update.build().execute(&mut *tx).await?;
    }
    Ok(())
}
