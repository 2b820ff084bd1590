//! Rules of one's own for alerts: the mean of a metric over a run's last steps against a bound.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// How a mean is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Comparison {
    /// Greater.
    Above,
    /// Greater or equal.
    AtLeast,
    /// Less.
    Below,
    /// Less or equal.
    AtMost,
}

lyceum_core::named!(Comparison, "a comparison");

impl Comparison {
    /// Whether it holds of `mean` and `value`.
    pub fn holds(self, mean: f64, value: f64) -> bool {
        match self {
            Self::Above => mean > value,
            Self::AtLeast => mean >= value,
            Self::Below => mean < value,
            Self::AtMost => mean <= value,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct AlertRule {
    /// The rule.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The run that it watches; null if it watches all with a tag.
    pub run_id: Option<Uuid>,
    /// The tag of the runs that it watches; null if it watches one.
    pub tag: Option<String>,
    /// The metric.
    #[schema(example = "solve_rate")]
    pub metric: String,
    /// How the mean is compared with `value`: `above`, `at_least`, `below` or `at_most`.
    #[schema(value_type = String, example = "below")]
    pub comparison: Comparison,
    /// The bound.
    pub value: f64,
    /// How many of the last steps the mean covers.
    pub steps: i32,
    /// The name of the token that created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// Number of runs that it holds of at present.
    pub holds_of: i64,
}

keyed_by_seq!(AlertRule);

#[derive(Clone, Copy, Debug)]
pub struct NewAlertRule<'a> {
    pub run: Option<Uuid>,
    pub tag: Option<&'a str>,
    pub metric: &'a str,
    pub comparison: Comparison,
    pub value: f64,
    pub steps: u32,
    pub created_by: &'a str,
}

/// Selects rules.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct AlertRuleFilter {
    /// That watch only this run.
    pub run: Option<Uuid>,
    /// That watch the runs with this tag.
    pub tag: Option<String>,
}

const COLUMNS: &str = "id, seq, run_id, tag, metric, comparison, value, steps, created_by, created_at,
    (SELECT count(*) FROM alert_rule_states s WHERE s.rule_id = a.id AND s.holds) AS holds_of";

/// Writes a rule.
pub async fn create(tx: &mut PgConnection, new: &NewAlertRule<'_>) -> Result<AlertRule> {
    let query = format!(
        "INSERT INTO alert_rules AS a (id, run_id, tag, metric, comparison, value, steps, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING {COLUMNS}"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(Uuid::now_v7())
        .bind(new.run)
        .bind(new.tag)
        .bind(new.metric)
        .bind(new.comparison)
        .bind(new.value)
        .bind(i32::try_from(new.steps).unwrap_or(i32::MAX))
        .bind(new.created_by)
        .fetch_one(tx)
        .await?)
}

/// One rule.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: Uuid) -> Result<AlertRule> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM alert_rules a WHERE id = "));
    query.push_bind(id);
    let rule = query.build_query_as().fetch_optional(db).await?;
    rule.ok_or_else(|| StoreError::not_found("alert rule", id))
}

/// Rules that fit `filter`.
pub async fn page(db: &PgPool, filter: &AlertRuleFilter, window: &Window) -> Result<Page<AlertRule>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM alert_rules a WHERE true"));
    and(&mut query, "run_id = ", filter.run);
    and(&mut query, "tag = ", filter.tag.clone());
    by_seq(db, query, "seq", window).await
}

/// Removes a rule. Its alerts stay.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn remove(db: &PgPool, id: Uuid) -> Result<()> {
    let removed = sqlx::query("DELETE FROM alert_rules WHERE id = $1").bind(id).execute(db).await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("alert rule", id)),
        _ => Ok(()),
    }
}

/// A rule and a run that has finished steps since the rule last looked at it.
#[derive(Clone, Debug, FromRow)]
pub struct Due {
    pub rule: Uuid,
    pub run: Uuid,
    /// The run's name.
    pub name: String,
    pub metric: String,
    pub comparison: Comparison,
    pub value: f64,
    pub steps: i32,
    /// Number of finished steps of the run.
    pub step: i32,
    /// Whether it held when it last looked.
    pub held: bool,
    /// The run's mean over its last `steps` steps; `None` if the metric has no value in them.
    pub mean: Option<f64>,
}

/// What rules have to look at: running runs, and those that ended within the last hour, after at least as many steps as the
/// rule takes the mean of.
pub async fn due(db: &PgPool) -> Result<Vec<Due>> {
    Ok(sqlx::query_as(
        "SELECT a.id AS rule, r.id AS run, r.name, a.metric, a.comparison, a.value, a.steps, e.step,
             coalesce(s.holds, false) AS held,
             (SELECT avg(nullif(m.\"values\"[array_position(e.metrics, a.metric)], 'NaN'))::float8 FROM metrics m
              WHERE m.run_id = r.id AND m.member_id IS NULL AND m.step >= e.step - a.steps AND m.step < e.step) AS mean
         FROM alert_rules a JOIN runs r ON r.id = a.run_id OR r.tags @> ARRAY[a.tag] JOIN executions e ON e.id = r.id
         LEFT JOIN alert_rule_states s ON s.rule_id = a.id AND s.run_id = r.id
         WHERE (e.state IN ('running', 'paused') OR e.finished_at > now() - interval '1 hour')
             AND a.metric = ANY(e.metrics) AND e.step >= a.steps AND s.step IS DISTINCT FROM e.step",
    )
    .fetch_all(db)
    .await?)
}

/// Keeps that a rule has looked at a run, and whether it holds of it.
pub async fn looked(db: &PgPool, due: &Due, holds: bool) -> Result<()> {
    sqlx::query(
        "INSERT INTO alert_rule_states (rule_id, run_id, step, holds)
         SELECT a.id, r.id, $3, $4 FROM alert_rules a, runs r WHERE a.id = $1 AND r.id = $2
         ON CONFLICT (rule_id, run_id) DO UPDATE SET step = excluded.step, holds = excluded.holds",
    )
    .bind(due.rule)
    .bind(due.run)
    .bind(due.step)
    .bind(holds)
    .execute(db)
    .await?;
    Ok(())
}
