//! A log line for every step of a run.

use lyceum_core::{
    id::ExecutionId,
    recipe::{Highlight, Registry},
};
use lyceum_store::{
    Result,
    metrics::{self, MetricsQuery},
    runs, steps,
};
use sqlx::PgPool;

use crate::log::PROGRESS;
use crate::step_figures::step_figures;

/// Logs the main figures of a finished step.
pub(super) async fn log_step(db: &PgPool, registry: &Registry, run: ExecutionId, step: u32) {
    match line(db, registry, run, step).await {
        Ok(line) => tracing::info!(target: PROGRESS, { run.id = %run, step }, "{line}"),
        Err(error) => tracing::debug!(run.id = %run, step, %error, "cannot read the figures of step {step}"),
    }
}

/// The run's name, the step counted from 1, and its figures.
async fn line(db: &PgPool, registry: &Registry, id: ExecutionId, step: u32) -> Result<String> {
    let run = runs::find(db, id).await?;
    let query = MetricsQuery {
        from: step,
        to: Some(step),
        run_alone: true,
        limit: 1,
        ..MetricsQuery::default()
    };
    let rows = metrics::rows(db, id, &query).await?.rows;
    let value = |name: &str| {
        let place = run.metrics.iter().position(|metric| metric == name)?;
        let value = rows.first()?.mean.get(place)?;
        value.is_finite().then_some(*value)
    };
    let times = steps::find(db, id, step).await?;
    let took = times.finished_at.map(|finished| finished - times.started_at);
    let metrics = registry.metrics(&run.run.recipe);
    let highlighted = metrics
        .iter()
        .filter(|one| one.highlights.contains(&Highlight::StepLine));
    let figures = step_figures(highlighted.map(|metric| (metric.name, metric.unit)), value, took);
    let name = run.run.name.escape_debug();
    Ok(format!("{name}: step {} of {}: {figures}", step + 1, run.run.steps))
}
