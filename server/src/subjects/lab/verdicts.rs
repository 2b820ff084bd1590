//! The verdicts on the runs of a table, in a word or two. `docs/STATISTICS.md` has the rules.

use lyceum_core::config::RunConfig;
use lyceum_core::verdict::{Evidence, HeldOut, Progress, Readings, SPAN, Signal, Trend, Verdict};
use lyceum_store::executions::State;
use lyceum_store::metrics;
use lyceum_store::runs::{self, Outcome, Run, Standing};
use serde::{Deserialize as _, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::lab::Lab;
use crate::subjects::run::tone;

/// The headline of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Headline {
    pub(crate) label: &'static str,
    /// How it is coloured: `good`, `bad`, `warn` or `open`.
    #[serde(skip)]
    pub(crate) tone: &'static str,
}

/// The headlines of `runs`, in a few queries however many there are.
pub(super) async fn headlines(
    lab: &Lab,
    runs: &[&Run],
    outcomes: &HashMap<Uuid, Outcome>,
) -> Result<HashMap<Uuid, Headline>, ApiError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.id).collect();
    let standings = runs::standings(lab.store.pool(), &ids).await?;
    let standings: HashMap<Uuid, Standing> = standings.into_iter().map(|one| (one.id, one)).collect();
    let known: Vec<(&Run, &Standing)> = runs.iter().filter_map(|run| Some((*run, standings.get(&run.id)?))).collect();
    let mut readings = readings(lab, &known).await?;
    let headline = |(run, standing): (&Run, &Standing)| {
        let is_open = run.state.is_open();
        let verdict = Verdict::of(&Evidence {
            progress: progress(run, standing),
            readings: readings.remove(&run.id).unwrap_or_default(),
            held_out: match outcomes.get(&run.id).and_then(|outcome| outcome.result.comparison()) {
                Some(comparison) => HeldOut::Measured(comparison),
                None if standing.is_due && (is_open || standing.is_measuring) => HeldOut::Awaited,
                None => HeldOut::Unmeasured,
            },
            since_warm_up: None,
        });
        let headline = Headline { label: verdict.headline().label(is_open), tone: tone(verdict.headline()) };
        (run.id, headline)
    };
    Ok(known.into_iter().map(headline).collect())
}

fn progress(run: &Run, standing: &Standing) -> Progress {
    match run.state {
        State::Running if standing.is_stalled => Progress::Stalled,
        State::Running => Progress::Running,
        State::Paused => Progress::Paused,
        State::Completed => Progress::Completed,
        State::Failed => Progress::Failed(run.error.clone()),
        State::Cancelled => Progress::Cancelled,
    }
}

/// The metrics that verdicts look at. Runs whose metrics are at the same places are read together.
async fn readings(lab: &Lab, runs: &[(&Run, &Standing)]) -> Result<HashMap<Uuid, Readings>, ApiError> {
    let mut alike: HashMap<Vec<(Signal, usize)>, Vec<Uuid>> = HashMap::new();
    for (run, standing) in runs {
        let recipe = lab.registry.get(&run.recipe).ok();
        let config = RunConfig::deserialize(&standing.config).ok();
        let compares =
            recipe.zip(config).is_none_or(|(recipe, config)| recipe.compares_answers(&config).unwrap_or(true));
        let signals = Signal::all_in(&lab.registry.metrics(&run.recipe), &standing.metrics, compares);
        alike.entry(signals).or_default().push(run.id);
    }
    let mut readings = HashMap::new();
    for (signals, ids) in alike {
        let places: Vec<usize> = signals.iter().map(|(_, place)| *place).collect();
        let rows = metrics::ends_of_each(lab.store.pool(), &ids, &places, SPAN).await?;
        for own in rows.chunk_by(|(run, _), (other, _)| run == other) {
            let trend = |column: usize| Trend::of(own.iter().map(|(_, row)| row[column].unwrap_or(f64::NAN)));
            let all = signals.iter().enumerate();
            let read = all.fold(Readings::default(), |read, (column, (signal, _))| read.with(*signal, trend(column)));
            readings.insert(own[0].0, read);
        }
    }
    Ok(readings)
}
