//! A sweep on the page of its experiment: how far it is, and a row for every arm and point of the grid.

use lyceum_core::id::ExperimentId;
use lyceum_store::executions;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, LastSteps, RunColumn, RunValue};
use lyceum_store::sweeps::{self, Sweep, SweepFilter, SweepRun, SweepState};
use serde::Serialize;
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::subjects::lab::column::{Column, Value};
use crate::subjects::lab::parallel::{Coordinates, Parallel};

/// What is shown unless others are asked for; those that no run has are left out.
pub(crate) const COLUMNS: &str = "metrics.solve_rate,metrics.validity,metrics.no_signal_share,benchmarks.held-out-seedling,difference.held-out-seedling";

/// Sweeps of an experiment that are shown.
const SWEEPS: u32 = 5;
/// Runs of a sweep that its table has.
const RUNS: i64 = 2_000;
/// Runs that are drawn.
const DRAWN: usize = 300;
/// Runs whose pace is asked for.
const PACED: usize = 8;

/// A sweep as it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct SweepView {
    #[serde(flatten)]
    pub(crate) sweep: Sweep,
    /// Names of the grid's fields.
    #[serde(skip)]
    pub(crate) fields: Vec<String>,
    /// Heads of the chosen columns.
    #[serde(skip)]
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Whether there are more runs than the table has.
    pub(crate) more: bool,
    /// Seconds until its last run ends, at the pace of those in progress.
    pub(crate) seconds_left: Option<f64>,
    /// Its runs across the fields of its grid and the chosen columns.
    #[serde(skip)]
    pub(crate) parallel: Option<Parallel>,
}

/// An arm at a point of the grid.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) arm: String,
    /// Values of the grid's fields.
    pub(crate) point: Vec<String>,
    pub(crate) runs: Vec<SweepRun>,
    /// Means over its runs of the chosen columns.
    pub(crate) values: Vec<String>,
}

impl SweepView {
    /// The newest sweeps of an experiment.
    pub(crate) async fn of(db: &PgPool, experiment: ExperimentId, columns: &[Column]) -> Result<Vec<Self>, ApiError> {
        let filter = SweepFilter { experiment: Some(experiment), state: None };
        let newest = Window { limit: SWEEPS, after: None, order: Order::Newest };
        let mut views = Vec::new();
        for sweep in sweeps::page(db, &filter, &newest).await?.items {
            views.push(Self::load(db, sweep, columns).await?);
        }
        Ok(views)
    }

    async fn load(db: &PgPool, sweep: Sweep, columns: &[Column]) -> Result<Self, ApiError> {
        let runs = sweeps::points(db, sweep.id, RUNS).await?;
        let ids: Vec<Uuid> = runs.iter().filter_map(|run| run.run_id).collect();
        let wanted: Vec<RunColumn> = columns.iter().map(|column| column.column.clone()).collect();
        let values = runs::values(db, &ids, &wanted, LastSteps::default()).await?;
        let has_any = |place: usize| values.values().any(|own| own[place].is_some());
        let shown: Vec<usize> = (0..columns.len()).filter(|place| has_any(*place)).collect();
        let fields: Vec<String> = match runs.first().and_then(|run| run.point.as_object()) {
            Some(point) => point.keys().cloned().collect(),
            None => Vec::new(),
        };
        let seconds_left = seconds_left(db, &sweep, &runs).await?;
        Ok(Self {
            heads: shown.iter().map(|place| columns[*place].title()).collect(),
            parallel: parallel(&sweep, &runs, &fields, &shown, columns, &values),
            more: sweep.runs > RUNS,
            rows: rows(runs, &fields, &shown, columns, &values),
            fields,
            sweep,
            seconds_left,
        })
    }

    /// Whether runs may begin or are in progress.
    pub(crate) fn is_going_on(&self) -> bool {
        self.sweep.state == SweepState::Running || self.sweep.open > 0
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.sweep.state, SweepState::Running | SweepState::Paused)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.sweep.state == SweepState::Paused
    }

    pub(crate) fn ended(&self) -> i64 {
        self.sweep.runs - self.sweep.planned - self.sweep.open
    }

    /// A field of the grid without the parts that say where it is.
    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    pub(crate) fn field<'a>(&self, path: &'a str) -> &'a str {
        path.rsplit('.').next().unwrap_or(path)
    }
}

impl Row {
    /// Runs of the row that have not begun.
    pub(crate) fn planned(&self) -> usize {
        self.runs.iter().filter(|run| run.begun_at.is_none()).count()
    }
}

fn rows(
    runs: Vec<SweepRun>,
    fields: &[String],
    shown: &[usize],
    columns: &[Column],
    values: &HashMap<Uuid, Vec<Option<RunValue>>>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    for run in runs {
        let key = (run.arm.clone(), run.point.to_string());
        let place = *places.entry(key).or_insert_with(|| {
            rows.push(Row {
                arm: run.arm.clone(),
                point: fields.iter().map(|field| plain(&run.point[field.as_str()])).collect(),
                runs: Vec::new(),
                values: Vec::new(),
            });
            rows.len() - 1
        });
        rows[place].runs.push(run);
    }
    for row in &mut rows {
        row.values = shown.iter().map(|place| mean(&row.runs, *place, columns, values)).collect();
    }
    rows
}

/// The runs that have begun, as lines across the fields of the grid and the columns.
fn parallel(
    sweep: &Sweep,
    runs: &[SweepRun],
    fields: &[String],
    shown: &[usize],
    columns: &[Column],
    values: &HashMap<Uuid, Vec<Option<RunValue>>>,
) -> Option<Parallel> {
    let short = |field: &String| field.rsplit('.').next().unwrap_or(field).to_owned();
    let titles = ["arm".to_owned()].into_iter().chain(fields.iter().map(short));
    let titles: Vec<String> = titles.chain(shown.iter().map(|place| columns[*place].title())).collect();
    let coordinates = |run: &SweepRun| {
        let own = values.get(&run.run_id?)?;
        let field = |name: &String| match &run.point[name.as_str()] {
            serde_json::Value::Null => None,
            serde_json::Value::Number(number) => number.as_f64().map(Value::Number),
            other => Some(Value::Text(plain(other))),
        };
        let outcome = |place: &usize| own[*place].clone().map(|value| columns[*place].on_axis(Value::from(value)));
        let arm = [Some(Value::Text(run.arm.clone()))].into_iter();
        Some(Coordinates {
            name: run.name.clone(),
            address: format!("/runs/{}", run.run_id?),
            values: arm.chain(fields.iter().map(field)).chain(shown.iter().map(outcome)).collect(),
        })
    };
    let drawn: Vec<Coordinates> = runs.iter().filter_map(coordinates).take(DRAWN).collect();
    Parallel::of(format!("parallel-{}", sweep.id), &titles, &drawn)
}

/// The mean of a column over the completed runs that have a number ± their standard deviation. A run that goes on is not
/// comparable with one that has ended.
fn mean(runs: &[SweepRun], place: usize, columns: &[Column], values: &HashMap<Uuid, Vec<Option<RunValue>>>) -> String {
    let number = |run: &SweepRun| match values.get(&run.run_id?)?[place] {
        Some(RunValue::Number(number)) => Some(number),
        _ => None,
    };
    let completed = runs.iter().filter(|run| run.state == Some(executions::State::Completed));
    let numbers: Vec<f64> = completed.filter_map(number).collect();
    let count = numbers.len() as f64;
    if numbers.is_empty() {
        return "–".to_owned();
    }
    let mean = numbers.iter().sum::<f64>() / count;
    let shown = columns[place].number(&mean);
    if numbers.len() == 1 {
        return shown;
    }
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{shown} ± {}", columns[place].number(&variance.sqrt()))
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => crate::inert(text),
        other => crate::inert(&other.to_string()),
    }
}

/// Seconds until the last run ends, at the median pace of runs in progress or ended.
async fn seconds_left(db: &PgPool, sweep: &Sweep, runs: &[SweepRun]) -> Result<Option<f64>, ApiError> {
    if sweep.state != SweepState::Running && sweep.open == 0 {
        return Ok(None);
    }
    let begun: Vec<&SweepRun> = runs.iter().filter(|run| run.step.is_some_and(|step| step > 0)).collect();
    let mut paces = Vec::new();
    for run in begun.iter().rev().take(PACED).filter_map(|run| run.run_id) {
        paces.extend(executions::pace(db, lyceum_core::id::ExecutionId(run)).await?.median_seconds);
    }
    paces.sort_by(f64::total_cmp);
    let pace = paces.get(paces.len() / 2);
    Ok(pace.map(|pace| pace * rounds_left(sweep, runs)))
}

/// Steps that pass one after another until the last run ends: those that are left, shared by the runs at once, but no fewer
/// than the longest run has left. Planned runs begin only while the sweep is running, and are taken to be of usual length.
fn rounds_left(sweep: &Sweep, runs: &[SweepRun]) -> f64 {
    let lengths: Vec<f64> = runs.iter().filter_map(|run| run.steps).map(f64::from).collect();
    let usual = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
    let is_open = |run: &&SweepRun| run.state.is_some_and(executions::State::is_open);
    let in_progress = runs.iter().filter(is_open);
    let mut left: Vec<f64> = in_progress.filter_map(|run| Some(f64::from(run.steps? - run.step?))).collect();
    if sweep.state == SweepState::Running {
        left.extend((0..sweep.planned).map(|_| usual));
    }
    let at_once = left.len().min(sweep.concurrency.max(1).cast_unsigned() as usize).max(1);
    let longest = left.iter().copied().fold(0.0, f64::max);
    (left.iter().sum::<f64>() / at_once as f64).max(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use lyceum_store::Seed;
    use lyceum_store::executions::State;
    use serde_json::json;

    fn sweep(state: SweepState, planned: i64) -> Sweep {
        Sweep {
            id: Uuid::nil(),
            seq: 0,
            experiment_id: Uuid::nil(),
            experiment: String::new(),
            plan: json!({}),
            concurrency: 4,
            budget_seconds: None,
            state,
            reason: None,
            runs: 0,
            planned,
            open: 0,
            completed: 0,
            failed: 0,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            finished_at: None,
        }
    }

    fn run(state: State, step: i32) -> SweepRun {
        SweepRun {
            ordinal: 0,
            arm: String::new(),
            point: json!({}),
            seed: Seed(0),
            name: String::new(),
            begun_at: Some(DateTime::UNIX_EPOCH),
            run_id: Some(Uuid::nil()),
            error: None,
            state: Some(state),
            step: Some(step),
            steps: Some(100),
        }
    }

    #[test]
    fn a_mean_is_over_completed_runs() {
        let of = |state, id| SweepRun { run_id: Some(Uuid::from_u128(id)), ..run(state, 100) };
        let runs = [of(State::Completed, 1), of(State::Running, 2), of(State::Failed, 3)];
        let numbers = [0.5, 0.9, 0.1].map(|number| vec![Some(RunValue::Number(number))]);
        let values = (1..).map(Uuid::from_u128).zip(numbers).collect();
        let columns = Column::parse_all("metrics.solve_rate").unwrap();
        assert_eq!(mean(&runs, 0, &columns, &values), columns[0].number(&0.5));
        assert_eq!(mean(&runs[1..], 0, &columns, &values), "–");
    }

    #[test]
    fn what_is_left_is_shared_by_as_many_runs_as_there_are() {
        let (done, last) = (run(State::Completed, 100), run(State::Running, 20));
        let running = |planned| sweep(SweepState::Running, planned);
        let runs = [done.clone(), last.clone()];
        assert_eq!(rounds_left(&running(0), &runs), 80.0, "the last run is alone");
        assert_eq!(rounds_left(&running(1), &runs), 100.0, "a planned run takes its whole length");
        assert_eq!(rounds_left(&running(10), &runs), (80.0 + 1000.0) / 4.0);
        let uneven = [run(State::Running, 10), run(State::Running, 90), run(State::Running, 95)];
        assert_eq!(rounds_left(&running(0), &uneven), 90.0, "the longest does not share its steps");
        assert_eq!(rounds_left(&running(0), &[done]), 0.0);
    }

    #[test]
    fn runs_that_will_not_begin_take_no_time() {
        for state in [SweepState::Paused, SweepState::Cancelled] {
            let left = rounds_left(&sweep(state, 40), &[run(State::Running, 20)]);
            assert_eq!(left, 80.0, "{state:?}");
        }
    }
}
