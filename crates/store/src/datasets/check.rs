//! Whether the tests of a dataset's rows were tried, and which of them cannot be used.

use lyceum_core::dataset::TestFaultKind;
use lyceum_core::evaluation::{DatasetCheckSpec, EvaluationSpec};
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_core::recipe::dataset_check::{ROWS_PER_ITEM, ROWS_PER_STEP};
use lyceum_core::recipe::{DatasetCheckEvaluation, DatasetCheckParameters, DatasetCheckRecord, Planner as _};
use serde::Serialize;
use serde::ser::Error as _;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Dataset;
use crate::evaluations::{self, NewEvaluation};
use crate::page::{Key, Keyed, Page, Window, by_seq};
use crate::text::storable;
use crate::{Result, StoreError, executions};

/// How far the check of a dataset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CheckState {
    /// Its tests have not been tried, and nothing is planned.
    Unchecked,
    /// They are being tried.
    Checking,
    /// All have been tried.
    Checked,
}

lyceum_core::named!(CheckState, "a state of the check of a dataset");

/// The check of the tests of a dataset's rows.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct DatasetCheck {
    /// `unchecked`, `checking` or `checked`.
    #[schema(value_type = String)]
    pub state: CheckState,
    /// Rows that have been checked so far.
    pub rows: i32,
    /// Rows with tests that cannot be used, as far as it is known.
    pub bad_rows: i64,
    /// The newest evaluation that checks them; none before the first.
    pub evaluation: Option<Uuid>,
    /// Why that evaluation failed.
    pub error: Option<String>,
}

/// A row whose tests cannot be used.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct BadRow {
    /// Its index in the dataset, from 0.
    pub index: i32,
    /// The line of the file that it was read from, if it was read from lines.
    pub line: Option<i32>,
    /// Its task.
    pub task_id: Option<String>,
    /// `passes_empty`, `fails_canonical` or `unusable`.
    #[schema(value_type = String)]
    pub reason: TestFaultKind,
    /// What the verifier said.
    pub message: String,
}

impl Keyed for BadRow {
    fn key(&self) -> Key {
        Key { value: None, seq: i64::from(self.index) }
    }
}

/// The check of a dataset; none if its rows have no tests that could be bad.
pub async fn check(db: impl PgExecutor<'_>, id: DatasetId) -> Result<Option<DatasetCheck>> {
    let found = sqlx::query_as(
        "SELECT CASE WHEN d.checked_at IS NOT NULL THEN 'checked' WHEN e.state IN ('running', 'paused') THEN 'checking'
                     ELSE 'unchecked' END AS state,
             CASE WHEN d.checked_at IS NOT NULL THEN d.rows
                  ELSE least(d.rows, coalesce(e.step * $2 + coalesce(s.ended, 0) * $3, 0)) END AS rows,
             (SELECT count(*) FROM dataset_bad_rows b WHERE b.dataset_id = d.id) AS bad_rows,
             d.check_id AS evaluation, e.error
         FROM datasets d LEFT JOIN executions e ON e.id = d.check_id
         LEFT JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE d.id = $1 AND EXISTS (
             SELECT FROM dataset_rows r WHERE r.dataset_id = d.id AND r.row -> 'oracle' ->> 'type' IN ('script', 'python'))",
    )
    .bind(id.0)
    .bind(ROWS_PER_STEP.cast_signed())
    .bind(ROWS_PER_ITEM.cast_signed());
    Ok(found.fetch_optional(db).await?)
}

/// Bad rows, in order.
pub async fn bad_rows(db: &PgPool, id: DatasetId, window: &Window) -> Result<Page<BadRow>> {
    let mut query = QueryBuilder::new(
        "SELECT * FROM (
             SELECT b.dataset_id, index, r.line, r.row ->> 'task_id' AS task_id, b.reason, b.message
             FROM dataset_bad_rows b JOIN dataset_rows r USING (dataset_id, index)) rows WHERE dataset_id = ",
    );
    query.push_bind(id.0);
    by_seq(db, query, "index", window).await
}

/// Plans the check of a dataset, unless it was checked, is being checked, or has no tests. It starts when the transaction
/// commits.
pub async fn plan_check(tx: &mut PgConnection, dataset: &Dataset) -> Result<()> {
    lock(&mut *tx, DatasetId(dataset.id)).await?;
    match check(&mut *tx, DatasetId(dataset.id)).await? {
        Some(check) if check.state == CheckState::Unchecked => {}
        _ => return Ok(()),
    }
    let unwritten = |error: &dyn std::fmt::Display| StoreError::Json {
        what: "check of a dataset",
        source: serde_json::Error::custom(error),
    };
    let planner = DatasetCheckEvaluation;
    let parameters =
        DatasetCheckParameters { dataset: DatasetId(dataset.id), rows: dataset.rows.cast_unsigned(), dry_run: None };
    let config = planner.config(parameters).map_err(|error| unwritten(&error))?;
    let state = planner.begin(ExecutionId(Uuid::now_v7()), &config).map_err(|error| unwritten(&error))?;
    let new = NewEvaluation {
        spec: &EvaluationSpec::DatasetCheck(DatasetCheckSpec::of(dataset.id.to_string())),
        run: None,
        config: &config,
        state: &state,
        trace_id: None,
    };
    evaluations::begin(tx, &new).await
}

/// Notes that an evaluation checks a dataset from its first row on.
///
/// # Errors
/// [`StoreError::Conflict`] if another does so.
pub(crate) async fn begin_check(tx: &mut PgConnection, dataset: DatasetId, evaluation: ExecutionId) -> Result<()> {
    lock(&mut *tx, dataset).await?;
    if let Some(running) = check(&mut *tx, dataset).await?.filter(|it| it.state == CheckState::Checking) {
        return Err(StoreError::Conflict {
            what: "dataset",
            id: dataset.to_string(),
            state: format!("being checked by evaluation {}", running.evaluation.unwrap_or_default()),
            wanted: "checked or unchecked",
            action: "checked again",
        });
    }
    sqlx::query("DELETE FROM dataset_bad_rows WHERE dataset_id = $1").bind(dataset.0).execute(&mut *tx).await?;
    sqlx::query("UPDATE datasets SET check_id = $2, checked_at = NULL WHERE id = $1")
        .bind(dataset.0)
        .bind(evaluation.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Writes what a step of a check found, unless another check was begun meanwhile.
pub(crate) async fn write_check(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[DatasetCheckRecord],
) -> Result<()> {
    for record in records {
        for (place, fault) in &record.bad {
            sqlx::query(
                "INSERT INTO dataset_bad_rows (dataset_id, index, reason, message)
                 SELECT id, $3, $4, $5 FROM datasets WHERE id = $1 AND check_id = $2 ON CONFLICT DO NOTHING",
            )
            .bind(record.dataset.0)
            .bind(evaluation.0)
            .bind(place.cast_signed())
            .bind(fault.reason)
            .bind(storable(&fault.message).as_ref())
            .execute(&mut *tx)
            .await?;
        }
        if record.is_last {
            sqlx::query("UPDATE datasets SET checked_at = now() WHERE id = $1 AND check_id = $2")
                .bind(record.dataset.0)
                .bind(evaluation.0)
                .execute(&mut *tx)
                .await?;
        }
    }
    Ok(())
}

/// Cancels the check of a dataset that is about to go. Before the dataset is locked: the planner of its check locks it last.
pub(super) async fn cancel_check(tx: &mut PgConnection, dataset: DatasetId) -> Result<()> {
    let open: Option<Uuid> = sqlx::query_scalar(
        "SELECT e.id FROM executions e JOIN datasets d ON d.check_id = e.id
         WHERE d.id = $1 AND e.finished_at IS NULL FOR NO KEY UPDATE OF e",
    )
    .bind(dataset.0)
    .fetch_optional(&mut *tx)
    .await?;
    match open {
        Some(check) => executions::cancel(tx, ExecutionId(check)).await,
        None => Ok(()),
    }
}

async fn lock(tx: &mut PgConnection, id: DatasetId) -> Result<()> {
    sqlx::query("SELECT FROM datasets WHERE id = $1 FOR NO KEY UPDATE").bind(id.0).execute(tx).await?;
    Ok(())
}
