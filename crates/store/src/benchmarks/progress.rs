//! What a run's members came to on one suite over its steps, with counts by row.

use lyceum_core::{
    benchmark::{Score, SubjectRole},
    id::ExecutionId,
};
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// A way in which a run's members were measured: these rows, asked so often at this temperature.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct Measurement {
    pub suite: String,
    /// The name of the results, if not the suite's.
    pub name: String,
    /// Hash of the rows' contents.
    pub row_set: String,
    /// Hash of what influences scores in how they were asked.
    pub decoding: String,
    pub rows: i32,
    /// Samples per row.
    pub n: i32,
    /// Softmax temperature; 0 is greedy.
    pub temperature: f64,
    /// Finished steps when members were measured in this way, in order; empty if only the base was.
    pub steps: Vec<i32>,
    /// Whether the base was measured in this way.
    pub has_base: bool,
}

/// A subject's answers in one measurement.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct Answered {
    /// Number of steps the weights have been through; none for the base.
    pub step: Option<i32>,
    /// The member; none for the base.
    pub member_id: Option<Uuid>,
    /// The subject's name.
    pub name: String,
    /// `base`, `student`, `teacher` or `member`.
    pub role: SubjectRole,
    /// Samples by row.
    pub samples: Vec<i32>,
    /// Correct samples by row.
    pub correct: Vec<i32>,
    /// Tokens generated.
    pub completion_tokens: i64,
}

impl Answered {
    /// The counts for pass@k.
    pub fn score(&self) -> Score {
        let counts = |counts: &[i32]| counts.iter().map(|count| count.cast_unsigned()).collect();
        Score {
            samples: counts(&self.samples),
            correct: counts(&self.correct),
        }
    }
}

/// The results of a run, and of those from which it was forked up to the step where it begins.
const RESULTS: &str = "WITH results AS (
         SELECT b.*, coalesce((b.protocol ->> 'temperature')::double precision, 0) AS temperature
         FROM past_of($1) past JOIN benchmark_results b USING (run_id)
         WHERE b.step IS NULL OR past.before IS NULL OR b.step <= past.before
     )";

/// The ways in which a run was measured, the first used first. A fork inherits those of its past.
pub async fn measurements(db: &PgPool, run: ExecutionId) -> Result<Vec<Measurement>> {
    let select =
        "SELECT coalesce(protocol ->> 'suite', suite) AS suite, suite AS name, row_set, decoding, rows, n, temperature,
             coalesce(array_agg(DISTINCT step) FILTER (WHERE member_id IS NOT NULL), '{}') AS steps,
             bool_or(role = 'base') AS has_base
         FROM results GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY min(seq)";
    let query = sqlx::AssertSqlSafe(format!("{RESULTS} {select}"));
    Ok(sqlx::query_as(query).bind(run.0).fetch_all(db).await?)
}

/// The answers of the base and of the members at these steps, the newest for each, by step and birth.
pub async fn answered(
    db: &PgPool,
    run: ExecutionId,
    measurement: &Measurement,
    steps: &[i32],
) -> Result<Vec<Answered>> {
    let select = "SELECT * FROM (
             SELECT DISTINCT ON (coalesce(member_id::text, base_model), step)
                 seq, step, member_id, name, role, samples, correct, completion_tokens
             FROM results
             WHERE suite = $2 AND row_set = $3 AND decoding = $4 AND (member_id IS NULL OR step = ANY($5))
             ORDER BY coalesce(member_id::text, base_model), step, seq DESC
         ) newest ORDER BY step NULLS FIRST, seq";
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(format!("{RESULTS} {select}")))
        .bind(run.0)
        .bind(&measurement.name)
        .bind(&measurement.row_set)
        .bind(&measurement.decoding)
        .bind(steps)
        .fetch_all(db)
        .await?)
}
