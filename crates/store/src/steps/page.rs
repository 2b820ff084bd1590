//! Steps of a run or an evaluation.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};

use crate::{
    Result, StoreError,
    page::{Page, Window, by_seq, keyed_by_seq},
};

/// A step.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Step {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its number, from 0.
    pub step: i32,
    /// The recipe's name for this part of the run.
    pub stage: String,
    /// Items planned so far.
    pub total: i32,
    /// Items that have ended.
    pub ended: i32,
    /// Time spent planning it, in seconds.
    pub plan_seconds: f64,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

keyed_by_seq!(Step);

const SELECT: &str = "SELECT step::bigint AS seq, step, stage, total, ended, plan_seconds, started_at, finished_at
    FROM steps WHERE execution_id = ";

/// Steps that have started.
pub async fn page(db: &PgPool, execution: ExecutionId, window: &Window) -> Result<Page<Step>> {
    let mut query = QueryBuilder::new(SELECT);
    query.push_bind(execution.0);
    by_seq(db, query, "step", window).await
}

/// One step.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, execution: ExecutionId, number: u32) -> Result<Step> {
    let mut query = QueryBuilder::new(SELECT);
    query
        .push_bind(execution.0)
        .push(" AND step = ")
        .push_bind(i64::from(number));
    let step = query.build_query_as().fetch_optional(db).await?;
    step.ok_or_else(|| StoreError::not_found("step", number))
}

/// When the finished steps of `run` ended, in order.
pub async fn ends(db: &PgPool, run: ExecutionId) -> Result<Vec<(i32, DateTime<Utc>)>> {
    Ok(sqlx::query_as(
        "SELECT step, finished_at FROM steps WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
