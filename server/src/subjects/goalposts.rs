//! Which hard problems the checkpoints of runs solved when: for the pages and the API.

pub(crate) mod endpoints;
pub(super) mod page;

use lyceum_core::goalpost_map::{self, Ascended, Ascent, Solve};
use lyceum_core::id::{DatasetId, ExecutionId};
use lyceum_store::goalposts::{self, AttemptedDataset, GoalpostCounts};
use lyceum_store::runs::{self, Run};
use serde::Serialize;
use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;

/// Maximum number of runs of one map.
pub(crate) const RUNS: usize = 24;

/// Which goalposts the checkpoints of some runs solved when, by arm; runs of an arm differ only by seed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GoalpostMap {
    /// The goalposts; none if no checkpoint has attempted any.
    pub(crate) dataset: Option<GoalpostDataset>,
    /// All datasets that these runs' checkpoints have attempted, the last measured first.
    pub(crate) datasets: Vec<GoalpostDataset>,
    /// The arms.
    pub(crate) arms: Vec<GoalpostArm>,
    /// The goalposts that any checkpoint or control solved, in the order of the dataset.
    pub(crate) goalposts: Vec<Goalpost>,
}

/// A dataset of goalposts.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct GoalpostDataset {
    /// The dataset.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// How many goalposts it has.
    pub(crate) rows: i32,
}

/// The runs of an arm.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GoalpostArm {
    /// The name of its first run.
    pub(crate) name: String,
    /// Its runs.
    pub(crate) runs: Vec<GoalpostRun>,
    /// All seeds together: a goalpost is solved after a step if any seed's checkpoint solved it.
    pub(crate) checkpoints: GoalpostSide,
    /// The untrained base in place of every checkpoint, all seeds together; none without a control.
    pub(crate) control: Option<GoalpostSide>,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GoalpostRun {
    /// The run.
    pub(crate) id: Uuid,
    /// Its name.
    pub(crate) name: String,
    /// Its recipe.
    pub(crate) recipe: String,
    /// Its seed, in decimal.
    pub(crate) seed: String,
    /// What its checkpoints solved.
    pub(crate) checkpoints: GoalpostSide,
    /// What the untrained base solved in place of every checkpoint, with attempts of its own; none without a control.
    pub(crate) control: Option<GoalpostSide>,
}

/// What checkpoints, or the untrained base in their place, solved.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct GoalpostSide {
    /// Goalposts solved at least once.
    pub(crate) solved: usize,
    /// All attempts.
    pub(crate) attempts: u64,
    /// By step: how many were solved after it and how many so far, and attempts after it.
    #[schema(value_type = Vec<Object>)]
    pub(crate) steps: Vec<Ascended>,
}

/// A goalpost that was solved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Goalpost {
    /// Its place in the dataset.
    pub(crate) row: u32,
    /// Its task, if it has a name.
    pub(crate) task_id: Option<String>,
    /// What each arm did, in the order of the arms.
    pub(crate) arms: Vec<GoalpostHistory>,
}

/// How an arm fared on a goalpost.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct GoalpostHistory {
    /// After the steps at which a checkpoint solved it: how often, of how many attempts of all seeds.
    #[schema(value_type = Vec<Object>)]
    pub(crate) solves: Vec<Solve>,
    /// The same of the untrained base in their place.
    #[schema(value_type = Vec<Object>)]
    pub(crate) control: Vec<Solve>,
}

impl GoalpostSide {
    fn of(ascent: &Ascent) -> Self {
        Self { solved: ascent.solved.len(), attempts: ascent.attempts, steps: ascent.steps.clone() }
    }
}

impl GoalpostArm {
    /// Whether the base had as many attempts in place of every checkpoint; none without a control. Of checkpoints and of their
    /// control the newest measurement counts, and these may be of different evaluations.
    pub(crate) fn is_matched(&self) -> Option<bool> {
        let attempts = |side: &GoalpostSide| -> Vec<(u32, u64)> {
            let each = side.steps.iter().map(|at| (at.step, at.attempts));
            each.collect()
        };
        Some(attempts(self.control.as_ref()?) == attempts(&self.checkpoints))
    }
}

/// A run's two sides.
struct Sides {
    checkpoints: Ascent,
    /// None without a control.
    control: Option<Ascent>,
}

/// The sides of these counts. A base after step 0 is where both sides begin.
fn sides<'c>(counts: impl Iterator<Item = &'c GoalpostCounts> + Clone) -> Sides {
    let before = |of: &&GoalpostCounts| of.step.unwrap_or(0) == 0;
    let checkpoints = counts.clone().filter(|of| !of.control);
    let has_control = counts.clone().any(|of| of.control);
    let control = counts.filter(|of| of.control || before(of));
    Sides {
        checkpoints: Ascent::of(checkpoints.map(GoalpostCounts::attempted)),
        control: has_control.then(|| Ascent::of(control.map(GoalpostCounts::attempted))),
    }
}

/// The map of `runs` on a dataset, by default the one that was measured last.
///
/// # Errors
/// 404 for a run that does not exist, or if none of the runs has attempted the dataset.
pub(crate) async fn map(db: &PgPool, ids: &[Uuid], dataset: Option<Uuid>) -> Result<GoalpostMap, ApiError> {
    let mut found: Vec<Run> = Vec::new();
    for id in ids {
        found.push(runs::find(db, ExecutionId(*id)).await?.run);
    }
    let datasets = goalposts::datasets_of_runs(db, ids).await?;
    let chosen = match dataset {
        None => datasets.first().cloned(),
        Some(id) => {
            let chosen = datasets.iter().find(|one| one.id == id).cloned();
            let missing = || ApiError::not_found(format!("none of these runs has attempted the rows of dataset {id}"));
            Some(chosen.ok_or_else(missing)?)
        }
    };
    let counts = match &chosen {
        Some(chosen) => goalposts::of_runs(db, ids, DatasetId(chosen.id)).await?,
        None => Vec::new(),
    };
    let of_run = |run: Uuid| counts.iter().filter(move |count| count.run_id == Some(run));
    let mut arms: Vec<(GoalpostArm, Sides)> = Vec::new();
    for group in grouped(&found) {
        let each: Vec<Sides> = group.iter().map(|run| sides(of_run(run.id))).collect();
        let runs = group.iter().zip(&each).map(|(run, sides)| GoalpostRun {
            id: run.id,
            name: run.name.clone(),
            recipe: run.recipe.clone(),
            seed: run.seed.0.to_string(),
            checkpoints: GoalpostSide::of(&sides.checkpoints),
            control: sides.control.as_ref().map(GoalpostSide::of),
        });
        let runs: Vec<GoalpostRun> = runs.collect();
        let together = match <[Sides; 1]>::try_from(each) {
            Ok([alone]) => alone,
            Err(_) => {
                let ids: BTreeSet<Uuid> = group.iter().map(|run| run.id).collect();
                let of_group = |count: &&GoalpostCounts| count.run_id.is_some_and(|run| ids.contains(&run));
                sides(counts.iter().filter(of_group))
            }
        };
        let arm = GoalpostArm {
            name: group.first().map(|run| run.name.clone()).unwrap_or_default(),
            runs,
            checkpoints: GoalpostSide::of(&together.checkpoints),
            control: together.control.as_ref().map(GoalpostSide::of),
        };
        arms.push((arm, together));
    }
    let goalposts = match &chosen {
        Some(chosen) => solved(db, chosen, arms.iter().map(|(_, sides)| sides)).await?,
        None => Vec::new(),
    };
    let of_dataset = |one: &AttemptedDataset| GoalpostDataset { id: one.id, name: one.name.clone(), rows: one.rows };
    Ok(GoalpostMap {
        dataset: chosen.as_ref().map(of_dataset),
        datasets: datasets.iter().map(of_dataset).collect(),
        arms: arms.into_iter().map(|(arm, _)| arm).collect(),
        goalposts,
    })
}

/// Runs of equal arms, in the order of the first of each. A run and its fork have one arm and one seed; a fork is an arm of its
/// own.
fn grouped<'r>(runs: &'r [Run]) -> Vec<Vec<&'r Run>> {
    let mut groups: Vec<Vec<&'r Run>> = Vec::new();
    for run in runs {
        let fits =
            |group: &&mut Vec<&'r Run>| group[0].arm == run.arm && group.iter().all(|other| other.seed.0 != run.seed.0);
        match groups.iter_mut().find(fits) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// The goalposts that any side of any arm solved.
async fn solved(
    db: &PgPool,
    dataset: &AttemptedDataset,
    arms: impl Iterator<Item = &Sides> + Clone,
) -> Result<Vec<Goalpost>, ApiError> {
    let ascents = arms.clone().flat_map(|sides| std::iter::once(&sides.checkpoints).chain(&sides.control));
    let rows: Vec<i32> = goalpost_map::union(ascents).into_iter().map(u32::cast_signed).collect();
    let names = goalposts::task_ids(db, DatasetId(dataset.id), &rows).await?;
    let mut names: HashMap<i32, String> = names.into_iter().collect();
    let history =
        |ascent: &Ascent, row: u32| ascent.solved.get(&row).map(|line| line.solves.clone()).unwrap_or_default();
    let goalposts = rows.into_iter().map(|place| {
        let row = place.cast_unsigned();
        let arms = arms.clone().map(|sides| GoalpostHistory {
            solves: history(&sides.checkpoints, row),
            control: sides.control.as_ref().map(|control| history(control, row)).unwrap_or_default(),
        });
        Goalpost { row, task_id: names.remove(&place), arms: arms.collect() }
    });
    Ok(goalposts.collect())
}

impl GoalpostMap {
    /// A line for each arm, side, goalpost and step at which it was solved.
    pub(crate) fn to_csv(&self) -> String {
        let names: BTreeMap<u32, &str> =
            self.goalposts.iter().filter_map(|goalpost| Some((goalpost.row, goalpost.task_id.as_deref()?))).collect();
        let lines = self.goalposts.iter().flat_map(|goalpost| {
            goalpost.arms.iter().zip(&self.arms).flat_map(move |(history, arm)| {
                let sides = [(false, &history.solves), (true, &history.control)];
                sides.into_iter().flat_map(move |(control, solves)| {
                    let line = move |solve: &Solve| (arm.name.as_str(), control, goalpost.row, *solve);
                    solves.iter().map(line)
                })
            })
        });
        goalpost_map::to_csv(lines, |row| names.get(&row).copied().unwrap_or_default().to_owned())
    }
}
