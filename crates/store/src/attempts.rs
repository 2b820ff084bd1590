//! Attempts: answers of members to problems.

mod page;
mod span;

pub use page::{AttemptFilter, page};

use chrono::{DateTime, Utc};
use lyceum_core::id::{AttemptId, ExecutionId, ProblemId};
use lyceum_core::prompt::ReadingRule;
use lyceum_core::recipe::{AttemptRecord, Role, Side};
use lyceum_core::verify::Status;
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::keyed_by_seq;
use crate::steps::StepRef;
use crate::text::storable;
use crate::{Result, StoreError};

/// The roles of `side`, for queries. Attempts of planners and critics are rows, but not failed solutions.
pub(crate) fn roles_of(side: Side) -> Vec<Role> {
    side.roles().collect()
}

/// One answer of one member to a problem.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Attempt {
    /// The attempt.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The problem.
    pub problem_id: Uuid,
    /// The member that answered.
    pub member_id: Uuid,
    /// The version of its weights.
    pub version_id: Uuid,
    /// Its role.
    #[schema(value_type = String)]
    pub role: Role,
    /// Index of the sample, from 0.
    pub sample: i32,
    /// Its response, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// The rule that found it, if the run reads answers by several: `form`, `line`, `boxed` or `literal`.
    #[schema(value_type = Option<String>)]
    pub reading: Option<ReadingRule>,
    /// Whether the answer has the requested form.
    pub well_formed: bool,
    /// The verifier's status.
    #[schema(value_type = String)]
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// Its reward.
    pub reward: f32,
    /// The parts of the reward, by name.
    #[schema(value_type = Object)]
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: i32,
    /// The evaluation that had it made; none for attempts of the run itself.
    pub evaluation_id: Option<Uuid>,
    /// When it was written.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(Attempt);

const COLUMNS: &str =
    "id, seq, step, problem_id, member_id, version_id, role, sample, text, answer, reading, well_formed, status,
    reason, correct, reward, reward_parts, tokens, evaluation_id, created_at";

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 2000;

/// Writes attempts, and adds the answers among them to cross-play: to that of the run, which also counts them, or to what an
/// evaluation had members attempt.
pub(crate) async fn write(
    tx: &mut PgConnection,
    at: StepRef,
    evaluation: Option<ExecutionId>,
    records: &[AttemptRecord],
) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO attempts (id, run_id, step, problem_id, member_id, version_id, role, sample,
             text, answer, reading, well_formed, status, reason, correct, reward, reward_parts, tokens, evaluation_id) ",
        );
        insert.push_values(batch, |mut row, record| {
            row.push_bind(record.id.0)
                .push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.problem.0)
                .push_bind(record.solver.0.0)
                .push_bind(record.solver.1.0)
                .push_bind(record.role)
                .push_bind(record.sample.cast_signed())
                .push_bind(storable(&record.text))
                .push_bind(record.answer.as_deref().map(storable))
                .push_bind(record.reading)
                .push_bind(record.well_formed)
                .push_bind(record.status)
                .push_bind(storable(&record.reason))
                .push_bind(record.correct)
                .push_bind(record.reward)
                .push_bind(Json(&record.reward_parts))
                .push_bind(record.tokens.cast_signed())
                .push_bind(evaluation.map(|id| id.0));
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING run_id, step, problem_id, member_id, correct, role),
             solved AS (SELECT * FROM inserted WHERE role = ANY(",
        );
        insert.push_bind(roles_of(Side::Solves));
        insert.push(
            ")),
             sums AS (
                 SELECT run_id, step, proposer_id, member_id, type, sum(attempts)::bigint, sum(solved)::bigint, count(*),
                     sum(solved * solved)::bigint, sum(solved * attempts)::bigint, sum(attempts * attempts)::bigint
                 FROM (SELECT i.run_id, i.step, p.proposer_id, i.member_id, p.type, count(*) AS attempts,
                           count(*) FILTER (WHERE i.correct) AS solved
                       FROM solved i JOIN problems p ON p.id = i.problem_id WHERE p.proposer_id IS NOT NULL
                       GROUP BY i.run_id, i.step, p.proposer_id, i.member_id, p.type, p.id) by_problem
                 GROUP BY run_id, step, proposer_id, member_id, type)",
        );
        const ADDED: &str = "DO UPDATE SET attempts = known.attempts + excluded.attempts, solved = known.solved + excluded.solved,
            problems = known.problems + excluded.problems, solved_squared = known.solved_squared + excluded.solved_squared,
            solved_attempts = known.solved_attempts + excluded.solved_attempts,
            attempts_squared = known.attempts_squared + excluded.attempts_squared";
        match evaluation {
            None => {
                insert.push(
                    ", met AS (INSERT INTO cross_play AS known (run_id, step, teacher_id, student_id, type, attempts, solved,
                             problems, solved_squared, solved_attempts, attempts_squared)
                         SELECT * FROM sums ON CONFLICT (run_id, step, teacher_id, student_id, type) ",
                );
                insert
                    .push(ADDED)
                    .push(") UPDATE runs SET attempts = attempts + (SELECT count(*) FROM solved) WHERE id = ");
                insert.push_bind(at.run.0);
            }
            Some(id) => {
                insert
                    .push(" INSERT INTO evaluated_cross_play AS known SELECT ")
                    .push_bind(id.0)
                    .push(", sums.* FROM sums ON CONFLICT (evaluation_id, step, teacher_id, student_id, type) ");
                insert.push(ADDED);
            }
        }
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}

/// The answers to a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Answers {
    pub count: i64,
    pub correct: i64,
}

impl Answers {
    /// The share that is correct; `None` without answers.
    pub fn share_correct(self) -> Option<f64> {
        (self.count > 0).then(|| self.correct as f64 / self.count as f64)
    }
}

/// Counts the answers to a problem that its run asked for.
pub async fn answers(db: &PgPool, problem: ProblemId) -> Result<Answers> {
    let count = "SELECT count(*) AS count, count(*) FILTER (WHERE correct) AS correct FROM attempts
        WHERE problem_id = $1 AND role = ANY($2) AND evaluation_id IS NULL";
    Ok(sqlx::query_as(count).bind(problem.0).bind(roles_of(Side::Solves)).fetch_one(db).await?)
}

/// The mean of a reward, or of one of its parts, over the attempts in a role.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct MeanReward {
    pub role: Role,
    /// The part; none for the whole reward.
    pub part: Option<String>,
    /// Attempts.
    pub count: i64,
    pub mean: f64,
}

/// The mean rewards of the attempts at a problem, and the means of their parts, by role. Attempts without parts were not
/// rewarded and do not count.
pub async fn mean_rewards(db: &PgPool, problem: ProblemId) -> Result<Vec<MeanReward>> {
    Ok(sqlx::query_as(
        "WITH rewarded AS (
             SELECT role, reward, reward_parts FROM attempts
             WHERE problem_id = $1 AND evaluation_id IS NULL AND jsonb_typeof(reward_parts) = 'object' AND reward_parts <> '{}'
         )
         SELECT role, NULL AS part, count(*) AS count, avg(reward)::float8 AS mean FROM rewarded GROUP BY role
         UNION ALL
         SELECT role, part.key, count(*), avg((part.value #>> '{}')::float8)
         FROM rewarded, jsonb_each(reward_parts) part WHERE jsonb_typeof(part.value) = 'number' GROUP BY role, part.key
         ORDER BY role, part NULLS FIRST",
    )
    .bind(problem.0)
    .fetch_all(db)
    .await?)
}

/// Where an attempt was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPlace {
    pub run: ExecutionId,
    pub step: u32,
    pub problem: ProblemId,
}

/// The place of an attempt.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn place(db: &PgPool, id: AttemptId) -> Result<AttemptPlace> {
    let row: Option<(Uuid, i32, Uuid)> = sqlx::query_as("SELECT run_id, step, problem_id FROM attempts WHERE id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    let (run, step, problem) = row.ok_or_else(|| StoreError::not_found("attempt", id))?;
    Ok(AttemptPlace { run: ExecutionId(run), step: step.cast_unsigned(), problem: ProblemId(problem) })
}
