//! A log line for every step of a run, with its main figures.

use chrono::TimeDelta;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Highlight, Registry};
use lyceum_store::metrics::{self, MetricsQuery};
use lyceum_store::{Result, runs, steps};
use sqlx::PgPool;

use crate::log::PROGRESS;

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
    let query = MetricsQuery { from: step, to: Some(step), run_alone: true, limit: 1, ..MetricsQuery::default() };
    let rows = metrics::rows(db, id, &query).await?.rows;
    let value = |name: &str| {
        let place = run.metrics.iter().position(|metric| metric == name)?;
        let value = rows.first()?.mean.get(place)?;
        value.is_finite().then_some(*value)
    };
    let times = steps::find(db, id, step).await?;
    let took = times.finished_at.map(|finished| finished - times.started_at);
    let metrics = registry.metrics(&run.run.recipe);
    let highlighted = metrics.iter().filter(|one| one.highlights.contains(&Highlight::StepLine));
    let figures = step_figures(highlighted.map(|metric| (metric.name, metric.unit)), value, took);
    let name = run.run.name.escape_debug();
    Ok(format!("{name}: step {} of {}: {figures}", step + 1, run.run.steps))
}

/// The values of a step's highlighted metrics and its duration, separated by commas. `metrics` are names and units, and
/// `value` looks up a metric of the run.
pub(crate) fn step_figures<'m>(
    metrics: impl IntoIterator<Item = (&'m str, &'m str)>,
    value: impl Fn(&str) -> Option<f64>,
    took: Option<TimeDelta>,
) -> String {
    let figure = |(name, unit): (&str, &str)| {
        let text = match (unit, value(name)?) {
            ("share", share) if share >= 0.1 => format!("{:.0} %", 100.0 * share),
            ("share", share) => format!("{:.2} %", 100.0 * share),
            (_, 0.0) => return None,
            (unit, number) if number.fract() == 0.0 => format!("{number} {unit}"),
            (unit, number) => format!("{number:.1} {unit}"),
        };
        Some(format!("{} {}", name.replace('_', " "), text.trim_end()))
    };
    let took = took.map(|took| format!("{:.1} s", took.num_milliseconds() as f64 / 1000.0));
    let parts: Vec<String> = metrics.into_iter().filter_map(figure).chain(took).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_by_its_recipe_s_own_metrics() {
        let metrics = [
            ("solve_rate", "share"),
            ("coverage", "share"),
            ("teacher_mu", ""),
            ("proof_length", "tokens"),
            ("births", ""),
            ("absent", ""),
        ];
        let value = |name: &str| match name {
            "solve_rate" => Some(0.168),
            "coverage" => Some(0.0061),
            "teacher_mu" => Some(25.94),
            "proof_length" => Some(71.0),
            "births" => Some(0.0),
            _ => None,
        };
        assert_eq!(
            step_figures(metrics, value, Some(TimeDelta::milliseconds(3610))),
            "solve rate 17 %, coverage 0.61 %, teacher mu 25.9, proof length 71 tokens, 3.6 s"
        );
        assert_eq!(step_figures(metrics, |_| None, None), "");
    }
}
