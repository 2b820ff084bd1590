//! The arms of an experiment: their held-out accuracy over seeds, and which is better.

use lyceum_core::id::ExperimentId;
use lyceum_core::statistics::{Decision, MeanDifference, SequentialTest, Standing};
use lyceum_store::executions::State;
use lyceum_store::experiments::Experiment;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, Outcome, Run, RunFilter, RunSort};
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::format;
use crate::subjects::lab::overlay::{is_alike, of_base};

/// Maximum runs looked at; the list of runs has all.
const RUNS: u32 = 300;
/// Maximum arms that have a colour of their own.
const DRAWN: usize = 8;

/// Runs that differ only by seed.
#[derive(Debug, Serialize)]
pub(super) struct Arm {
    pub(super) arm: String,
    pub(super) runs: Vec<Run>,
    /// Held-out accuracy at the end, over the seeds that have completed.
    pub(super) accuracy: Option<MeanDifference>,
}

/// An arm compared with the first one.
#[derive(Debug, Serialize)]
pub(super) struct Beside {
    /// The place of the arm among the arms.
    #[serde(skip)]
    pub(super) place: usize,
    arm: String,
    /// The difference of its accuracy at the end from the first arm's, over the seeds that both have completed.
    pub(super) difference: Option<MeanDifference>,
    /// How many more seeds would narrow its interval to what was asked for.
    pub(super) more_seeds: Option<u32>,
    /// The stopping rule, if it is on.
    pub(super) test: Option<Standing>,
}

/// The arms of an experiment, in the order in which they began.
pub(super) struct Arms {
    pub(super) arms: Vec<Arm>,
    outcomes: HashMap<Uuid, Outcome>,
    /// Whether there are more runs.
    pub(super) more: bool,
}

impl Arms {
    pub(super) async fn load(db: &PgPool, experiment: ExperimentId) -> Result<Self, ApiError> {
        let filter = RunFilter { experiment: Some(experiment), ..RunFilter::default() };
        let first = Window { limit: RUNS, after: None, order: Order::Oldest };
        let page = runs::page(db, &filter, &RunSort::Age, &first).await?;
        let ids: Vec<Uuid> = page.items.iter().map(|run| run.id).collect();
        let mut outcomes = runs::outcomes(db, &ids).await?;
        // What was measured in another way than the first run that was measured is not comparable.
        if let Some(usual) = ids.iter().find_map(|id| outcomes.get(id)).cloned() {
            outcomes.retain(|_, outcome| is_alike(outcome, &usual));
        }
        let mut arms: Vec<Arm> = Vec::new();
        for run in page.items {
            match arms.iter_mut().find(|arm| arm.arm == run.arm) {
                Some(arm) => arm.runs.push(run),
                None => arms.push(Arm { arm: run.arm.clone(), runs: vec![run], accuracy: None }),
            }
        }
        for arm in &mut arms {
            let values: Vec<f64> = finished(&arm.runs, &outcomes).map(|(_, one)| one.result.pass_at_1).collect();
            arm.accuracy = MeanDifference::of(&values);
        }
        Ok(Self { arms, outcomes, more: page.next.is_some() })
    }

    /// The title of the suite on which they are compared.
    pub(super) fn suite(&self) -> Option<&str> {
        self.outcomes.values().next().map(|one| format::suite_title(&one.result.of_suite))
    }

    /// Every other arm compared with the first. `within`: what the interval of a difference is to be narrowed to.
    pub(super) fn beside(&self, within: f64, rule: Option<SequentialTest>) -> Vec<Beside> {
        let Some((first, others)) = self.arms.split_first() else { return Vec::new() };
        let beside = |(place, arm): (usize, &Arm)| {
            let differences = self.differences(first, arm);
            let difference = MeanDifference::of(&differences);
            Beside {
                place: place + 2,
                arm: arm.arm.clone(),
                more_seeds: difference.and_then(|found| found.more_for(within)),
                difference,
                test: rule.map(|rule| rule.of(&differences)),
            }
        };
        others.iter().enumerate().map(beside).collect()
    }

    /// The differences of `arm` from `first`, seed by seed, in the order in which the first arm's runs began.
    fn differences(&self, first: &Arm, arm: &Arm) -> Vec<f64> {
        let own: HashMap<String, f64> = finished(&arm.runs, &self.outcomes)
            .map(|(run, one)| (run.seed.to_string(), one.result.pass_at_1))
            .collect();
        finished(&first.runs, &self.outcomes)
            .filter_map(|(run, one)| Some(own.get(&run.seed.to_string())? - one.result.pass_at_1))
            .collect()
    }

    /// Held-out accuracy over steps: a curve for each arm with one standard deviation over its seeds on either side, and faint
    /// ones of runs that have not completed.
    pub(super) fn figure(&self) -> Figure {
        let last = self.outcomes.values().flat_map(|one| &one.steps).max();
        let measured = self.arms.iter().flat_map(|arm| &arm.runs);
        let first = measured.filter_map(|run| self.outcomes.get(&run.id)).next();
        let base = first.and_then(|one| of_base(one, last.copied().unwrap_or_default().into()));
        let mut series: Vec<Series> = base.into_iter().collect();
        for (place, arm) in self.arms.iter().enumerate().take(DRAWN) {
            let all: Vec<&Outcome> = finished(&arm.runs, &self.outcomes).map(|(_, one)| one).collect();
            if let Some(curve) = mean_curve(&all) {
                series.push(Series {
                    name: format!("arm {} (n = {})", place + 1, all.len()),
                    style: Style::Bold,
                    place: Some(place),
                    ..curve
                });
            }
            let open = arm.runs.iter().filter(|run| run.state != State::Completed);
            series.extend(open.filter_map(|run| {
                Some(Series {
                    name: format!("arm {}, seed {}: {}", place + 1, run.seed, run.state),
                    style: Style::Faint,
                    place: Some(place),
                    points: points(self.outcomes.get(&run.id)?),
                    ..Series::default()
                })
            }));
        }
        Figure {
            id: "arms".to_owned(),
            title: format!("Held-out accuracy: {}", self.suite().unwrap_or_default()),
            note: "Each curve is the mean over an arm's completed seeds with one standard deviation on either side; faint lines are \
                   runs that have not completed. The band of the base is its interval of 95 %."
                .to_owned(),
            x: "step".to_owned(),
            y: "solved".to_owned(),
            unit: "share",
            exact: true,
            series,
            width: 1,
            ..Figure::default()
        }
    }
}

impl Arm {
    /// The runs that have not completed.
    pub(super) fn unfinished(&self) -> usize {
        self.runs.iter().filter(|run| run.state != State::Completed).count()
    }
}

impl Beside {
    /// The difference in points, with its interval.
    pub(super) fn shown(&self) -> String {
        let Some(found) = self.difference else { return "–".to_owned() };
        let mean = format::points(&found.mean);
        match found.reach {
            Some(reach) => {
                let (low, high) = (format::points(&(found.mean - reach)), format::points(&(found.mean + reach)));
                format!("{mean} ({low} to {high})")
            }
            None => mean,
        }
    }

    /// How the stopping rule stands.
    pub(super) fn verdict(&self) -> Option<&'static str> {
        Some(match self.test?.decision {
            Decision::H1 => "decided: H1, enough seeds",
            Decision::H0 => "decided: H0, enough seeds",
            Decision::Open => "undecided",
        })
    }
}

/// The first completed run of every seed that was measured.
fn finished<'a>(runs: &'a [Run], outcomes: &'a HashMap<Uuid, Outcome>) -> impl Iterator<Item = (&'a Run, &'a Outcome)> {
    let mut seeds: Vec<String> = Vec::new();
    runs.iter()
        .filter(|run| run.state == State::Completed)
        .filter_map(|run| Some((run, outcomes.get(&run.id)?)))
        .filter(move |(run, _)| {
            let seed = run.seed.to_string();
            let is_new = !seeds.contains(&seed);
            seeds.push(seed);
            is_new
        })
}

fn points(outcome: &Outcome) -> Vec<(f64, Option<f64>)> {
    let points = outcome.steps.iter().zip(&outcome.scores);
    points.map(|(step, score)| (f64::from(*step), Some(*score))).collect()
}

/// The mean over the steps at which all were measured.
fn mean_curve(all: &[&Outcome]) -> Option<Series> {
    let first = all.first()?;
    let mut curve = Series::default();
    for step in &first.steps {
        let at = |one: &&Outcome| one.steps.iter().position(|other| other == step).map(|place| one.scores[place]);
        let Some(values) = all.iter().map(at).collect::<Option<Vec<f64>>>() else { continue };
        let Some(found) = MeanDifference::of(&values) else { continue };
        let x = f64::from(*step);
        curve.points.push((x, Some(found.mean)));
        if let Some(deviation) = found.deviation {
            curve.band.push((x, found.mean - deviation, found.mean + deviation));
        }
    }
    Some(curve)
}

/// The stopping rule of an experiment, if it is on.
pub(super) fn rule(experiment: &Experiment) -> Option<SequentialTest> {
    SequentialTest::deserialize(experiment.stopping.as_ref()?).ok()
}

/// Whether the stopping rule of `experiment` is on and has decided about every arm.
pub(crate) async fn has_decided(db: &PgPool, experiment: &Experiment) -> Result<bool, ApiError> {
    let Some(rule) = rule(experiment) else { return Ok(false) };
    let arms = Arms::load(db, ExperimentId(experiment.id)).await?;
    let beside = arms.beside(1.0, Some(rule));
    let is_decided = |one: &Beside| one.test.is_some_and(|test| test.decision != Decision::Open);
    Ok(!beside.is_empty() && beside.iter().all(is_decided))
}
