//! Metrics of a run.

use actix_web::web;
use lyceum_core::fault::nearest;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_store::metrics::{self, MetricRow, MetricsQuery};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query};
use crate::lab::Lab;

/// Maximum rows of a response: more than any step has.
const ROWS: u32 = 20_000;

/// Filters of metrics.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowMetricsQuery {
    /// Names of metrics, separated by commas; by default all.
    metrics: Option<String>,
    /// Of this member; by default of all members and the run.
    member: Option<Uuid>,
    /// `true` for the run only.
    run_alone: Option<bool>,
    /// The first step.
    from: Option<u32>,
    /// The last step.
    to: Option<u32>,
    /// Buckets of 4^level steps; 0 is every step. By default it follows from `points`.
    #[schemars(range(max = 8))]
    level: Option<u8>,
    /// Maximum points of a series; 1000 by default.
    #[schemars(range(min = 1, max = 10_000))]
    points: Option<u32>,
}

/// Metrics over steps.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Metrics {
    /// Names of the metrics, in the order of the values.
    metrics: Vec<String>,
    /// The level used.
    level: u8,
    /// Rows in the order of their steps. The last full bucket is followed by single steps.
    rows: Vec<MetricRow>,
    /// The `from` of the next request; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let one = About::new("show_metrics", "/runs/{id}/metrics")
        .says("Show the metrics of a run: every step, or downsampled for a chart.", "The metrics");
    let one = Endpoint::get(one, "runs", show_metrics).id("id", "The run");
    let one = one.query::<ShowMetricsQuery>().answers::<Metrics>();
    vec![one]
}

async fn show_metrics(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ShowMetricsQuery>,
) -> Result<Answer<Metrics>, ApiError> {
    let query = query.0;
    let run = runs::find(lab.store.pool(), *id).await?;
    let wanted = query.metrics.as_deref().map(|names| places(names, &run.metrics)).transpose()?;
    let from = query.from.unwrap_or(0);
    let last = query.to.unwrap_or(u32::MAX).min(run.run.step.cast_unsigned());
    let level = query.level.unwrap_or_else(|| level_for(last.saturating_sub(from) + 1, query.points.unwrap_or(1000)));
    let asked = MetricsQuery {
        from,
        to: query.to,
        member: query.member.map(MemberId),
        run_alone: query.run_alone == Some(true),
        level,
        means_alone: false,
        limit: ROWS,
    };
    let found = metrics::rows(lab.store.pool(), *id, &asked).await?;
    let (metrics, rows) = match wanted {
        None => (run.metrics, found.rows),
        Some(places) => {
            let names = places.iter().map(|&place| run.metrics[place].clone()).collect();
            (names, found.rows.into_iter().map(|row| picked(row, &places)).collect())
        }
    };
    Ok(Answer::ok(Metrics { metrics, level, rows, next: found.next }))
}

/// The lowest level at which `steps` are at most `points` points.
pub(crate) fn level_for(steps: u32, points: u32) -> u8 {
    (0..8).find(|&level| steps.div_ceil(4u32.pow(u32::from(level))) <= points).unwrap_or(8)
}

fn places(names: &str, known: &[String]) -> Result<Vec<usize>, ApiError> {
    let mut faults = Vec::new();
    let mut places = Vec::new();
    for name in names.split(',').map(str::trim) {
        match known.iter().position(|metric| metric == name) {
            Some(place) => places.push(place),
            None => {
                let near = nearest(name, known.iter().map(String::as_str));
                let hint = near.map_or_else(
                    || format!("valid are {}", known.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                faults.push(("metrics".to_owned(), format!("the run has no metric `{name}`; {hint}")));
            }
        }
    }
    if faults.is_empty() { Ok(places) } else { Err(ApiError::invalid_query(faults)) }
}

fn picked(row: MetricRow, places: &[usize]) -> MetricRow {
    let pick = |values: Vec<f64>| places.iter().map(|&place| values.get(place).copied().unwrap_or(f64::NAN)).collect();
    MetricRow { mean: pick(row.mean), min: row.min.map(pick), max: row.max.map(pick), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_gets_the_least_level_that_fits_it() {
        assert_eq!(level_for(1000, 1000), 0);
        assert_eq!(level_for(1001, 1000), 1);
        assert_eq!(level_for(16_001, 1000), 3);
        assert_eq!(level_for(u32::MAX, 1), 8);
    }
}
