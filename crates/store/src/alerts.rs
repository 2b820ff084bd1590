//! Alerts: what somebody may want to know at once.

pub mod rules;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, FromRow, PgPool, QueryBuilder};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::standstill::STALLED_SINCE;
use crate::text::storable;
use crate::{Result, StoreError};

/// What an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AlertKind {
    /// A run failed.
    Failed,
    /// A running run has not moved for a minute.
    Stalled,
    /// A run has completed.
    Completed,
    /// A run shows a sign of collapse (`docs/STATISTICS.md`).
    Collapsing,
    /// A metric of a run is beyond a bound (`docs/OPERATING.md`).
    Metric,
    /// A worker disappeared.
    WorkerLost,
    /// A webhook is tried out.
    Test,
}

lyceum_core::named!(AlertKind, "a kind of alert");

/// An alert.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Alert {
    /// The alert.
    pub id: Uuid,
    /// Its number, which increases with time.
    pub seq: i64,
    /// `failed`, `stalled`, `completed`, `collapsing`, `metric`, `worker_lost` or `test`.
    #[schema(value_type = String, example = "failed")]
    pub kind: AlertKind,
    /// The run that it is about.
    pub run_id: Option<Uuid>,
    /// What happened, in a few words.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// When it was raised.
    pub created_at: DateTime<Utc>,
    /// When somebody acknowledged it.
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// The name of the token of whoever did.
    pub acknowledged_by: Option<String>,
}

keyed_by_seq!(Alert);

#[derive(Clone, Copy, Debug)]
pub struct NewAlert<'a> {
    /// What it is about.
    pub kind: AlertKind,
    /// The run, worker or webhook that it is about.
    pub subject: Uuid,
    /// Tells this time from others; an alert is raised once for each.
    pub occurrence: &'a str,
    /// The run that it is about.
    pub run: Option<Uuid>,
    /// What happened, in a few words.
    pub title: &'a str,
    /// More about it.
    pub detail: &'a str,
    /// The only webhook to be notified; by default all that want its kind.
    pub only: Option<Uuid>,
}

/// Selects alerts.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct AlertFilter {
    /// Of this kind.
    pub kind: Option<AlertKind>,
    /// About this run.
    pub run: Option<Uuid>,
    /// Whether somebody acknowledged it.
    pub acknowledged: Option<bool>,
}

const COLUMNS: &str = "id, seq, kind, run_id, title, detail, created_at, acknowledged_at, acknowledged_by";

/// Raises an alert and has it delivered, unless that was done before.
pub async fn raise(db: &PgPool, new: &NewAlert<'_>) -> Result<bool> {
    let raised = sqlx::query(
        "WITH raised AS (
             INSERT INTO alerts (id, kind, subject, occurrence, run_id, title, detail) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (kind, subject, occurrence) DO NOTHING RETURNING id, kind
         ), told AS (
             INSERT INTO deliveries (webhook_id, alert_id) SELECT w.id, raised.id FROM raised, webhooks w
             WHERE CASE WHEN $8::uuid IS NULL THEN raised.kind = ANY(w.kinds) ELSE w.id = $8 END
         )
         SELECT FROM raised",
    )
    .bind(Uuid::now_v7())
    .bind(new.kind)
    .bind(new.subject)
    .bind(new.occurrence)
    .bind(new.run)
    .bind(&*storable(new.title))
    .bind(&*storable(new.detail))
    .bind(new.only)
    .fetch_optional(db)
    .await?;
    Ok(raised.is_some())
}

/// Alerts that fit `filter`.
pub async fn page(db: &PgPool, filter: &AlertFilter, window: &Window) -> Result<Page<Alert>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM alerts WHERE true"));
    and(&mut query, "kind = ", filter.kind);
    and(&mut query, "run_id = ", filter.run);
    and(&mut query, "(acknowledged_at IS NOT NULL) = ", filter.acknowledged);
    by_seq(db, query, "seq", window).await
}

/// Keeps that `who` acknowledged an alert, unless somebody did before.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn acknowledge(db: &PgPool, id: Uuid, who: &str) -> Result<Alert> {
    let mut query = QueryBuilder::new(
        "UPDATE alerts SET acknowledged_at = coalesce(acknowledged_at, now()), acknowledged_by = coalesce(acknowledged_by, ",
    );
    query.push_bind(who).push(") WHERE id = ").push_bind(id);
    query.push(format_args!(" RETURNING {COLUMNS}"));
    let alert = query.build_query_as().fetch_optional(db).await?;
    alert.ok_or_else(|| StoreError::not_found("alert", id))
}

/// Removes alerts older than thirty days, with their deliveries.
pub async fn tidy(db: &PgPool) -> Result<()> {
    sqlx::query("DELETE FROM alerts WHERE created_at < now() - interval '30 days'").execute(db).await?;
    Ok(())
}

/// Something to be alerted of.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    pub kind: AlertKind,
    /// The run or worker.
    pub subject: Uuid,
    /// Tells this time from others.
    pub occurrence: String,
    /// The run, if it is one.
    pub run: Option<Uuid>,
    /// The name of the run or worker.
    pub name: String,
    /// Why a run failed.
    pub error: Option<String>,
    /// The step it happened at.
    pub step: Option<i32>,
}

/// The number of alerts since `since`.
pub async fn count_since(db: &PgPool, since: DateTime<Utc>) -> Result<i64> {
    let query = sqlx::query_scalar("SELECT count(*) FROM alerts WHERE created_at > $1");
    Ok(query.bind(since).fetch_one(db).await?)
}

/// Ends of runs and losses of workers within the last hour, and stalls of runs, of which there is no alert. What happened
/// while no server looked is announced afterwards; what is older is not.
pub async fn candidates(db: &PgPool) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as(AssertSqlSafe(format!(
        "SELECT found.* FROM (
             SELECT e.state AS kind, e.id AS subject, extract(epoch FROM e.finished_at)::text AS occurrence, e.id AS run,
                 r.name, e.error, e.step
             FROM executions e JOIN runs r ON r.id = e.id
             WHERE e.kind = 'run' AND e.state IN ('failed', 'completed') AND e.finished_at > now() - interval '1 hour'
             UNION ALL
             SELECT 'stalled', id, extract(epoch FROM since)::text, id, name, NULL, step FROM (
                 SELECT e.id, r.name, e.step, {} AS since FROM executions e JOIN runs r ON r.id = e.id
                 WHERE e.kind = 'run' AND e.state = 'running' AND e.updated_at < now() - interval '1 minute'
             ) stalled WHERE since IS NOT NULL
             UNION ALL
             SELECT 'worker_lost', id, extract(epoch FROM stopped_at)::text, NULL, name, NULL, NULL FROM workers
             WHERE state = 'lost' AND stopped_at > now() - interval '1 hour'
         ) found
         WHERE NOT EXISTS (SELECT FROM alerts a WHERE a.kind = found.kind AND a.subject = found.subject
             AND a.occurrence = found.occurrence)",
        *STALLED_SINCE
    )))
    .fetch_all(db)
    .await?)
}
