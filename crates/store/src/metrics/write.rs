//! Metrics, and their downsampled levels for charts.

use std::collections::BTreeSet;

use lyceum_core::recipe::{MetricRecord, REWARD_PART};
use sqlx::{PgConnection, QueryBuilder};

use crate::{Result, steps::StepRef};

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
    let places = match parts.is_empty() {
        true => Vec::new(),
        false => places(tx, at, &parts).await?,
    };
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
        sqlx::query("UPDATE executions SET metrics = $2 WHERE id = $1")
            .bind(at.run.0)
            .bind(names)
            .execute(tx)
            .await?;
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
