//! Metrics of runs and members.

use std::collections::BTreeSet;

use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::{MetricRecord, REWARD_PART};
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool, Postgres, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::steps::StepRef;

/// Steps of a bucket at level 1; each further level combines this many buckets of the one below.
const FACTOR: u32 = 4;
/// The coarsest level: a bucket of 65,536 steps.
const LEVELS: u32 = 8;
/// Most parts of rewards that are metrics of a run: a reward may name its parts differently for every answer.
const MAX_PARTS: usize = 64;

/// Writes metrics, and closes the buckets that end with this step.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[MetricRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let parts: BTreeSet<&String> = records.iter().flat_map(|record| record.reward_parts.keys()).collect();
    let places = if parts.is_empty() { Vec::new() } else { places(tx, at, &parts).await? };
    let mut insert = QueryBuilder::new("INSERT INTO metrics (run_id, step, member_id, \"values\") ");
    insert.push_values(records, |mut row, record| {
        let mut values = record.values.clone();
        for (part, place) in &places {
            values.resize(values.len().max(place + 1), f64::NAN);
            values[*place] = record.reward_parts.get(*part).copied().unwrap_or(f64::NAN);
        }
        row.push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.member.map(|member| member.0))
            .push_bind(values);
    });
    insert.push(" ON CONFLICT DO NOTHING");
    insert.build().execute(&mut *tx).await?;
    for level in 1..=LEVELS {
        let width = FACTOR.pow(level);
        if !(at.step + 1).is_multiple_of(width) {
            break;
        }
        downsample(tx, at, level, width).await?;
    }
    Ok(())
}

/// The places of these parts of rewards among the run's metrics, which those that are new join.
async fn places<'p>(
    tx: &mut PgConnection,
    at: StepRef,
    parts: &BTreeSet<&'p String>,
) -> Result<Vec<(&'p String, usize)>> {
    let mut names: Vec<String> = sqlx::query_scalar("SELECT unnest(metrics) FROM executions WHERE id = $1")
        .bind(at.run.0)
        .fetch_all(&mut *tx)
        .await?;
    let known = names.len();
    let mut room = MAX_PARTS.saturating_sub(names.iter().filter(|name| name.starts_with(REWARD_PART)).count());
    let mut places = Vec::new();
    for part in parts {
        let name = format!("{REWARD_PART}{part}");
        if let Some(place) = names.iter().position(|known| *known == name) {
            places.push((*part, place));
        } else if room > 0 {
            room -= 1;
            places.push((*part, names.len()));
            names.push(name);
        }
    }
    if names.len() > known {
        sqlx::query("UPDATE executions SET metrics = $2 WHERE id = $1").bind(at.run.0).bind(names).execute(tx).await?;
    }
    Ok(places)
}

/// Closes the bucket of `width` steps that ends with this step. For a member that did not live through all of them, it
/// covers those it did; missing values (NaN) do not count.
async fn downsample(tx: &mut PgConnection, at: StepRef, level: u32, width: u32) -> Result<()> {
    sqlx::query(
        "INSERT INTO metric_levels (run_id, level, bucket, member_id, mean, min, max)
         SELECT $1, $2, $3, member_id, array_agg(mean ORDER BY i), array_agg(min ORDER BY i), array_agg(max ORDER BY i)
         FROM (
             SELECT member_id, i, coalesce(avg(v) FILTER (WHERE v <> 'NaN'), 'NaN') AS mean,
                 coalesce(min(v) FILTER (WHERE v <> 'NaN'), 'NaN') AS min,
                 coalesce(max(v) FILTER (WHERE v <> 'NaN'), 'NaN') AS max
             FROM metrics, unnest(\"values\") WITH ORDINALITY AS u (v, i)
             WHERE run_id = $1 AND step BETWEEN $4 AND $5
             GROUP BY member_id, i
         ) each GROUP BY member_id
         ON CONFLICT DO NOTHING",
    )
    .bind(at.run.0)
    .bind(i16::try_from(level).unwrap_or(i16::MAX))
    .bind((at.step / width).cast_signed())
    .bind((at.step + 1 - width).cast_signed())
    .bind(at.number())
    .execute(tx)
    .await?;
    Ok(())
}

/// Selects metrics.
#[derive(Clone, Debug, Default)]
pub struct MetricsQuery {
    /// From this step on, inclusive.
    pub from: u32,
    /// Up to this step, inclusive.
    pub to: Option<u32>,
    /// Of one member; `None` for the run and all members.
    pub member: Option<MemberId>,
    /// Of the run, without its members.
    pub run_alone: bool,
    /// Level of downsampling: 0 has every step, n has mean, minimum and maximum over 4^n steps.
    pub level: u8,
    /// Without minima and maxima.
    pub means_alone: bool,
    /// Maximum number of rows.
    pub limit: u32,
}

/// The values of a member or the run in a step or bucket.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct MetricRow {
    /// The (first) step.
    pub step: i32,
    /// How many steps it covers.
    pub width: i32,
    /// The member; none for the run.
    pub member_id: Option<Uuid>,
    /// Values, or their means, in the order of the run's metrics; null if there is none.
    #[schema(value_type = Vec<Option<f64>>)]
    pub mean: Vec<f64>,
    /// Minima; only if the row covers several steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Option<f64>>>)]
    pub min: Option<Vec<f64>>,
    /// Maxima; only if the row covers several steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Option<f64>>>)]
    pub max: Option<Vec<f64>>,
}

/// Rows by step.
#[derive(Clone, Debug)]
pub struct MetricRows {
    pub rows: Vec<MetricRow>,
    /// The step at which to continue; `None` at the end.
    pub next: Option<u32>,
}

/// Complete buckets, and single steps after the last of them: a bound of the index, so that the others are not even looked at.
const ROWS: &str = "
SELECT step, width, member_id, mean, CASE WHEN NOT $9 THEN min END AS min, CASE WHEN NOT $9 THEN max END AS max FROM (
    SELECT bucket * $6 AS step, $6 AS width, member_id, mean, min, max FROM metric_levels
    WHERE run_id = $1 AND level = $7 AND $7 > 0 AND bucket * $6::bigint BETWEEN $2 AND $3
    UNION ALL
    SELECT step, 1 AS width, member_id, \"values\" AS mean, NULL AS min, NULL AS max FROM metrics
    WHERE run_id = $1 AND step BETWEEN greatest($2, CASE WHEN $7 > 0 THEN $6::bigint * coalesce(
        (SELECT max(bucket) + 1 FROM metric_levels WHERE run_id = $1 AND level = $7), 0) END) AND $3
) every
WHERE ($4::uuid IS NULL OR member_id = $4) AND (NOT $5 OR member_id IS NULL)
ORDER BY step, member_id NULLS FIRST LIMIT $8";

pub async fn rows(db: &PgPool, run: ExecutionId, query: &MetricsQuery) -> Result<MetricRows> {
    let width = 4i32.pow(u32::from(query.level));
    let mut rows: Vec<MetricRow> = sqlx::query_as(ROWS)
        .bind(run.0)
        .bind(i64::from(query.from))
        .bind(query.to.map_or(i64::from(i32::MAX), i64::from))
        .bind(query.member.map(|id| id.0))
        .bind(query.run_alone)
        .bind(width)
        .bind(i16::from(query.level))
        .bind(i64::from(query.limit) + 1)
        .bind(query.means_alone)
        .fetch_all(db)
        .await?;
    // A page ends between steps: a step that would be cut in two starts the next page.
    let next = if rows.len() > query.limit as usize { rows.pop().map(|row| row.step) } else { None };
    if let Some(next) = next
        && rows.first().is_some_and(|first| first.step < next)
    {
        rows.retain(|row| row.step < next);
    }
    Ok(MetricRows { rows, next: next.map(i32::cast_unsigned) })
}

/// Sums over the steps of `run` from `from` on of its own values of the metrics with the indices `places`, in that order.
/// Missing values (NaN) do not count; a metric without any value is `None`.
pub async fn sums(db: &PgPool, run: ExecutionId, places: &[usize], from: u32) -> Result<Vec<Option<f64>>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("SELECT ");
    push_each(&mut query, "sum", places);
    query.push(" FROM metrics WHERE run_id = ").push_bind(run.0);
    query.push(" AND member_id IS NULL AND step >= ").push_bind(i64::from(from));
    Ok(query.build_query_scalar().fetch_one(db).await?)
}

/// Means of the run's own values of the metrics with the indices `places` over every `width` steps, by the number of the
/// window from 0; the last `limit` windows. Missing values as in [`sums`].
pub async fn means(
    db: &PgPool,
    run: ExecutionId,
    places: &[usize],
    width: u32,
    limit: u32,
) -> Result<Vec<(i32, Vec<Option<f64>>)>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let width = i32::try_from(width.max(1)).unwrap_or(i32::MAX);
    let mut query = QueryBuilder::new("SELECT step / ");
    query.push_bind(width).push(" AS place, ");
    push_each(&mut query, "avg", places);
    query.push(" FROM metrics WHERE run_id = ").push_bind(run.0);
    query.push(" AND member_id IS NULL GROUP BY 1 ORDER BY 1 DESC LIMIT ");
    query.push_bind(i64::from(limit));
    let mut windows: Vec<(i32, Vec<Option<f64>>)> = query.build_query_as().fetch_all(db).await?;
    windows.reverse();
    Ok(windows)
}

/// The run's own values of the metrics with the indices `places` in its first and its last `span` steps, by step. A
/// missing value is NaN or `None`.
pub async fn ends(db: &PgPool, run: ExecutionId, places: &[usize], span: u32) -> Result<Vec<Vec<Option<f64>>>> {
    let ends = ends_of_each(db, &[run.0], places, span).await?;
    Ok(ends.into_iter().map(|(_, values)| values).collect())
}

/// The same of each of `runs`, whose metrics are at the same places.
pub async fn ends_of_each(
    db: &PgPool,
    runs: &[Uuid],
    places: &[usize],
    span: u32,
) -> Result<Vec<(Uuid, Vec<Option<f64>>)>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let places: Vec<i32> = places.iter().map(|place| i32::try_from(*place).unwrap_or(i32::MAX - 1) + 1).collect();
    // Two ranges of the index: of a long run, what is between them is not looked at.
    Ok(sqlx::query_as(
        "SELECT run, ARRAY(SELECT \"values\"[place] FROM unnest($2::int[]) WITH ORDINALITY AS asked (place, rank)
             ORDER BY rank)
         FROM unnest($1::uuid[]) AS each (run), LATERAL (
             SELECT step, \"values\" FROM metrics WHERE run_id = run AND member_id IS NULL AND step < $3
             UNION ALL
             SELECT step, \"values\" FROM metrics WHERE run_id = run AND member_id IS NULL AND step >= greatest($3, 1 - $3 +
                 (SELECT max(step) FROM metrics WHERE run_id = run AND member_id IS NULL))) ends
         ORDER BY run, step",
    )
    .bind(runs)
    .bind(places)
    .bind(i32::try_from(span).unwrap_or(i32::MAX))
    .fetch_all(db)
    .await?)
}

/// An array of an aggregate of each of these metrics, without missing values.
fn push_each(query: &mut QueryBuilder<Postgres>, aggregate: &str, places: &[usize]) {
    query.push("ARRAY[");
    let mut each = query.separated(", ");
    for place in places {
        let place = i32::try_from(*place).unwrap_or(i32::MAX - 1) + 1;
        each.push(format!("{aggregate}(nullif(\"values\"["))
            .push_bind_unseparated(place)
            .push_unseparated("], 'NaN'))");
    }
    query.push("]::float8[]");
}
