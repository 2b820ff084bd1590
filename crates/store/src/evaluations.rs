//! Evaluations.

use chrono::{DateTime, Utc};
use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::EvaluationSpec;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{DatasetCheckParameters, RunState, SuiteSlice};
use serde::{Deserialize as _, Serialize};
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::executions::{self, NewExecution, State};
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::{Result, StoreError, datasets, event};

#[derive(Clone, Debug)]
pub struct NewEvaluation<'a> {
    /// Its specification.
    pub spec: &'a EvaluationSpec,
    /// The run it is about, if there is one.
    pub run: Option<ExecutionId>,
    /// The resolved config of its planner.
    pub config: &'a RunConfig,
    /// The initial state.
    pub state: &'a RunState,
    /// Links the request to its work (W3C trace id).
    pub trace_id: Option<&'a str>,
}

/// Writes an evaluation; it starts when the transaction commits.
///
/// # Errors
/// [`StoreError::Conflict`] for the check of a dataset that is being checked.
pub async fn begin(tx: &mut PgConnection, new: &NewEvaluation<'_>) -> Result<()> {
    let id = new.state.run;
    executions::insert(
        tx,
        &NewExecution {
            kind: "evaluation",
            config: new.config,
            state: new.state,
            metrics: &[],
            trace_id: new.trace_id,
        },
    )
    .await?;
    sqlx::query("INSERT INTO evaluations (id, run_id, spec) VALUES ($1, $2, $3)")
        .bind(id.0)
        .bind(new.run.map(|run| run.0))
        .bind(Json(new.spec))
        .execute(&mut *tx)
        .await?;
    if let EvaluationSpec::DatasetCheck(_) = new.spec {
        let of = DatasetCheckParameters::deserialize(&new.config.parameters);
        let of = of.map_err(StoreError::json("check of a dataset"))?;
        if of.dry_run.is_none() {
            datasets::begin_check(tx, of.dataset, id).await?;
        }
    }
    event::append(tx, id, "created", &serde_json::json!({ "spec": new.spec })).await?;
    event::wake_coordinator(&mut *tx, id).await
}

/// An evaluation.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Evaluation {
    /// The evaluation.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The run it is about, if there is one.
    pub run_id: Option<Uuid>,
    /// Its specification.
    #[schema(value_type = Object)]
    pub spec: serde_json::Value,
    /// Its result, once completed.
    #[schema(value_type = Option<Object>)]
    pub result: Option<serde_json::Value>,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    #[schema(value_type = String, example = "completed")]
    pub state: State,
    /// Why it failed.
    pub error: Option<String>,
    /// The current step, from 0.
    pub step: i32,
    /// Number of steps.
    pub steps: i32,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The number of its last event.
    pub last_event: i64,
}

/// Selects evaluations.
#[derive(Clone, Debug, Default)]
pub struct EvaluationFilter {
    pub run: Option<ExecutionId>,
    pub state: Option<State>,
    /// Of this type, as named in the spec.
    pub kind: Option<&'static str>,
}

/// The progress and subjects of an evaluation.
#[derive(Clone, Debug, FromRow)]
pub struct EvaluationProgress {
    /// The evaluation.
    pub id: Uuid,
    /// The name of its run.
    pub run: Option<String>,
    /// Items of the current step.
    pub items: i32,
    /// Items of it that have ended.
    pub ended: i32,
    /// Names of its subjects.
    pub subjects: Vec<String>,
}

keyed_by_seq!(Evaluation);

const SELECT: &str = "SELECT e.id, e.seq, v.run_id, v.spec, v.result, e.state, e.error, e.step, e.steps, e.created_at,
    e.updated_at, e.finished_at, e.last_event FROM executions e JOIN evaluations v ON v.id = e.id WHERE e.kind = 'evaluation'";

/// Evaluations that fit `filter`.
pub async fn page(db: &PgPool, filter: &EvaluationFilter, window: &Window) -> Result<Page<Evaluation>> {
    let mut query = QueryBuilder::new(SELECT);
    and(&mut query, "v.run_id = ", filter.run.map(|id| id.0));
    and(&mut query, "e.state = ", filter.state);
    and(&mut query, "v.spec ->> 'type' = ", filter.kind);
    by_seq(db, query, "e.seq", window).await
}

/// The progress of these evaluations, unordered.
pub async fn progress(db: &PgPool, ids: &[Uuid]) -> Result<Vec<EvaluationProgress>> {
    Ok(sqlx::query_as(
        "SELECT e.id, r.name AS run, coalesce(s.total, 0) AS items, coalesce(s.ended, 0) AS ended,
             ARRAY(SELECT subject ->> 'name' FROM jsonb_path_query(e.config, '$.parameters.subjects[*]') subject
                   WHERE subject ->> 'name' IS NOT NULL) AS subjects
         FROM executions e JOIN evaluations v USING (id) LEFT JOIN runs r ON r.id = v.run_id
         LEFT JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.id = ANY($1)",
    )
    .bind(ids)
    .fetch_all(db)
    .await?)
}

/// A completed evaluation, for estimates of the next one.
#[derive(Clone, Debug, FromRow)]
pub struct Completed {
    pub id: Uuid,
    /// The parameters of its planner.
    pub parameters: serde_json::Value,
    /// From its creation to its end.
    pub seconds: f64,
}

/// The newest completed evaluations of a planner.
pub async fn completed(db: &PgPool, planner: &str, limit: u32) -> Result<Vec<Completed>> {
    Ok(sqlx::query_as(
        "SELECT id, config -> 'parameters' AS parameters, extract(epoch FROM finished_at - created_at)::float8 AS seconds
         FROM executions WHERE kind = 'evaluation' AND recipe = $1 AND state = 'completed' ORDER BY seq DESC LIMIT $2",
    )
    .bind(planner)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}

/// One evaluation.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<Evaluation> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" AND e.id = ").push_bind(id.0);
    let evaluation = query.build_query_as().fetch_optional(db).await?;
    evaluation.ok_or_else(|| StoreError::not_found("evaluation", id))
}

/// The parameters that an evaluation was resolved to.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn parameters(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<serde_json::Value> {
    let parameters = sqlx::query_scalar(
        "SELECT coalesce(e.config -> 'parameters', 'null') FROM executions e JOIN evaluations v USING (id) WHERE e.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    parameters.ok_or_else(|| StoreError::not_found("evaluation", id))
}

/// A benchmark evaluation of a run: what it measured on.
#[derive(Clone, Debug, FromRow)]
pub struct MeasuredSuites {
    /// The evaluation.
    pub id: Uuid,
    pub run_id: Uuid,
    /// Finished steps of the run.
    pub step: i32,
    /// The suites with their rows and protocols.
    pub suites: Json<Vec<SuiteSlice>>,
}

/// The first evaluations of a run, or of those from which it was forked with the same schedule of benchmarks, oldest first.
pub async fn first_measured_suites(db: &mut PgConnection, run: ExecutionId) -> Result<Vec<MeasuredSuites>> {
    Ok(sqlx::query_as(
        "SELECT v.id, v.run_id, (v.spec ->> 'step')::int AS step, e.config #> '{parameters,suites}' AS suites
         FROM past_of($1) past JOIN evaluations v USING (run_id) JOIN executions e ON e.id = v.id
             JOIN executions r ON r.id = v.run_id JOIN executions own ON own.id = $1
         WHERE v.spec ->> 'type' = 'benchmark' AND v.spec ->> 'step' IS NOT NULL
             AND r.config -> 'benchmarks' = own.config -> 'benchmarks'
         ORDER BY e.seq LIMIT 100",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
