//! Raises alerts: of what happened to runs and workers, of policies that collapse, and by rules.

use lyceum_core::id::ExecutionId;
use lyceum_core::verdict::{Evidence, Finding, HeldOut, Progress, Readings, SPAN, Sign, Signal, Trend, Verdict};
use lyceum_store::alerts::{AlertKind, Candidate, NewAlert, candidates, raise};
use lyceum_store::executions::State;
use lyceum_store::metrics;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, RunFilter, RunSort};
use std::collections::HashMap;
use uuid::Uuid;

use super::rules;
use crate::api_error::ApiError;
use crate::lab::Lab;

/// Raises every alert that is due.
pub(crate) async fn raise_all(lab: &Lab, collapses: &mut Watch) -> Result<(), ApiError> {
    let db = lab.store.pool();
    for found in candidates(db).await? {
        let (title, detail) = told(&found);
        let new = NewAlert {
            kind: found.kind,
            subject: found.subject,
            occurrence: &found.occurrence,
            run: found.run,
            title: &title,
            detail: &detail,
            only: None,
        };
        raise(db, &new).await?;
    }
    collapses.look(lab).await?;
    rules::look(lab).await
}

/// An alert in a few words, and more about it.
fn told(found: &Candidate) -> (String, String) {
    let name = &found.name;
    let at = found.step.map_or(String::new(), |step| format!(" at step {step}"));
    match found.kind {
        AlertKind::Failed => (
            format!("{name} failed"),
            format!("It failed{at}: {}", found.error.as_deref().unwrap_or("no cause is known")),
        ),
        AlertKind::Stalled => {
            (format!("{name} is stalled"), format!("Nothing has moved for a minute{at}. Is a worker running?"))
        }
        AlertKind::Completed => (format!("{name} completed"), "All its steps have ended.".to_owned()),
        AlertKind::WorkerLost => (
            format!("The worker {name} is lost"),
            "It was not heard from for a minute; its items went back to the queue.".to_owned(),
        ),
        AlertKind::Collapsing => (format!("{name} is collapsing"), String::new()),
        AlertKind::Metric => (format!("{name}: a metric is beyond its bound"), String::new()),
        AlertKind::Test => ("A test".to_owned(), String::new()),
    }
}

/// Steps between two checks of a run.
const EVERY: i32 = 4;
/// Running runs that are looked at.
const RUNS: u32 = 100;

/// The step at which each running run was last looked at.
#[derive(Debug, Default)]
pub(crate) struct Watch(HashMap<Uuid, i32>);

impl Watch {
    /// Raises an alert for every sign that a running run shows, once for each.
    pub(crate) async fn look(&mut self, lab: &Lab) -> Result<(), ApiError> {
        let db = lab.store.pool();
        let filter = RunFilter { state: Some(State::Running), ..RunFilter::default() };
        let newest = Window { limit: RUNS, after: None, order: Order::Newest };
        let running = runs::page(db, &filter, &RunSort::Age, &newest).await?.items;
        self.0.retain(|id, _| running.iter().any(|run| run.id == *id));
        for run in running {
            let looked = self.0.get(&run.id).copied();
            if looked.is_some_and(|step| run.step < step + EVERY) {
                continue;
            }
            self.0.insert(run.id, run.step);
            for (sign, sentence) in signs(lab, ExecutionId(run.id)).await? {
                let title = format!("{} is collapsing: {sign}", run.name);
                let new = NewAlert {
                    kind: AlertKind::Collapsing,
                    subject: run.id,
                    occurrence: sign,
                    run: Some(run.id),
                    title: &title,
                    detail: &sentence,
                    only: None,
                };
                raise(db, &new).await?;
            }
        }
        Ok(())
    }
}

/// The signs of collapse that a run shows, in words.
async fn signs(lab: &Lab, id: ExecutionId) -> Result<Vec<(&'static str, String)>, ApiError> {
    let db = lab.store.pool();
    let run = runs::find(db, id).await?;
    // Problems that teach nothing are no sign of collapse.
    let signals = Signal::all_in(&lab.registry.metrics(&run.run.recipe), &run.metrics, false);
    let places: Vec<usize> = signals.iter().map(|(_, place)| *place).collect();
    let ends = metrics::ends(db, id, &places, SPAN).await?;
    let mut readings = Readings::default();
    for (column, (signal, _)) in signals.iter().enumerate() {
        let values = ends.iter().map(|row| row[column].unwrap_or(f64::NAN));
        readings = readings.with(*signal, Trend::of(values));
    }
    let evidence =
        Evidence { progress: Progress::Running, readings, held_out: HeldOut::Unmeasured, since_warm_up: None };
    let verdict = Verdict::of(&evidence);
    let sign = |finding: &Finding| match finding {
        Finding::Collapsing { sign, .. } => Some((word(*sign), finding.sentence(true))),
        _ => None,
    };
    Ok(verdict.findings().iter().filter_map(sign).collect())
}

fn word(sign: Sign) -> &'static str {
    match sign {
        Sign::Format => "format",
        Sign::Entropy => "entropy",
        Sign::Duplicates => "duplicates",
    }
}
