//! A run without models, sandbox, database or clock: scripted players of known skill carry out the work that a recipe
//! plans.
//!
//! With known skill it can show what no real run can: whether ratings order the members, whether pairing finds balanced
//! matchups, whether evolution replaces the weak.

mod player;

pub use self::player::{Players, Skill};

use rand::seq::SliceRandom as _;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use uuid::Uuid;

use crate::config::RunConfig;
use crate::contract::{
    DatasetRow, PlanError, ProblemRecord, Recipe, Records, RunState, StepView, Want, WorkItem, WorkState,
};
use crate::id::{DatasetId, ExecutionId, ProblemId};
use crate::seed::stream;

/// The order in which simultaneously open items end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All at once, and then the recipe plans: as if items took no time.
    #[default]
    Together,
    /// One by one in an order drawn from this seed; the recipe plans after each.
    Shuffled(u64),
}

/// The outcome of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// All rows written, without repetition, in the order of their identifiers in a database.
    pub records: Records,
    /// Number of items carried out.
    pub items: usize,
    /// Number of plans.
    pub plans: usize,
}

/// Why a simulation stopped.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The recipe cannot go on.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nothing is open, and the step is not over.
    #[error("step {step} has no open item and is not over after {plans} plans")]
    Stuck {
        step: u32,
        /// Number of plans.
        plans: usize,
    },
    /// The recipe wants a problem that was never written, or a dataset row that was not provided.
    #[error("{0:?} is not there")]
    Missing(Want),
    /// Two problems of a step have one place in it.
    #[error("two problems of step {step} have the index {index}")]
    SameIndex { step: u32, index: u32 },
    /// The players cannot do this kind of work.
    #[error("nobody plays {0}")]
    Unplayed(crate::work::WorkKey),
}

/// A run of a recipe with scripted players.
pub struct Simulation<'r> {
    recipe: &'r dyn Recipe,
    /// The run's memory before its next step.
    pub state: RunState,
    pub players: Players,
    order: Order,
    /// Problems that the recipe may ask for again, oldest first, without texts that it never reads.
    problems: BTreeMap<ProblemId, ProblemRecord>,
    kept: VecDeque<ProblemId>,
    datasets: BTreeMap<DatasetId, Vec<DatasetRow>>,
}

/// Number of problems kept: more than the pool of any simulation.
const KEPT: usize = 65_536;

impl<'r> Simulation<'r> {
    /// A run of `config`, which must be resolved.
    ///
    /// # Errors
    /// Any error of the recipe.
    pub fn new(
        recipe: &'r dyn Recipe,
        config: &RunConfig,
        players: Players,
        order: Order,
    ) -> Result<Self, SimulationError> {
        let run = ExecutionId(Uuid::from_u128(u128::from(config.seed) + 1));
        Ok(Self {
            recipe,
            state: recipe.begin(run, config)?,
            players,
            order,
            problems: BTreeMap::new(),
            kept: VecDeque::new(),
            datasets: BTreeMap::new(),
        })
    }

    /// Provides the rows of a dataset named in the config.
    #[must_use]
    pub fn with_dataset(mut self, id: DatasetId, rows: impl IntoIterator<Item = serde_json::Value>) -> Self {
        self.datasets.insert(id, rows.into_iter().map(DatasetRow).collect());
        self
    }

    /// Runs one step to its end.
    ///
    /// # Errors
    /// The recipe cannot go on, waits for nothing, or wants a row that does not exist.
    pub fn step(&mut self) -> Result<Step, SimulationError> {
        let mut view = StepView::default();
        let mut open: Vec<WorkItem> = Vec::new();
        let (mut seen, mut indices) = (HashSet::new(), HashSet::new());
        let mut step = Step::default();
        loop {
            let mut plan = self.recipe.plan(&self.state, &view)?;
            step.plans += 1;
            if !plan.wants.is_empty() {
                for want in plan.wants {
                    self.give(want, &mut view)?;
                }
                continue;
            }
            plan.records.retain_new(&mut seen);
            for problem in &plan.records.problems {
                if !indices.insert(problem.index) {
                    let (step, index) = (self.state.step, problem.index);
                    return Err(SimulationError::SameIndex { step, index });
                }
            }
            self.keep(&plan.records.problems);
            step.records.extend(plan.records);
            view.written();
            for item in plan.work {
                if !view.work.contains_key(&item.key) {
                    view.work.insert(item.key.clone(), WorkState::Open);
                    open.push(item);
                }
            }
            if let Some(next) = plan.finish {
                self.state = next;
                return Ok(step);
            }
            if open.is_empty() {
                let (step_number, plans) = (self.state.step, step.plans);
                return Err(SimulationError::Stuck { step: step_number, plans });
            }
            let take = match self.order {
                Order::Together => open.len(),
                Order::Shuffled(seed) => {
                    open.shuffle(&mut stream(seed, "order", u64::from(self.state.step) << 32 | step.plans as u64));
                    1
                }
            };
            for item in open.drain(..take) {
                let outcome = self.players.perform(item.key.chunk, &item.payload);
                let outcome = outcome.ok_or_else(|| SimulationError::Unplayed(item.key.clone()))?;
                view.work.insert(item.key, WorkState::Done(outcome));
                step.items += 1;
            }
        }
    }

    fn keep(&mut self, problems: &[ProblemRecord]) {
        for problem in problems {
            let (prompt, proposal) = (String::new(), String::new());
            let slim = ProblemRecord { prompt, proposal, ..problem.clone() };
            self.problems.insert(problem.id, slim);
            self.kept.push_back(problem.id);
        }
        while self.kept.len() > KEPT {
            if let Some(oldest) = self.kept.pop_front() {
                self.problems.remove(&oldest);
            }
        }
    }

    fn give(&self, want: Want, view: &mut StepView) -> Result<(), SimulationError> {
        match want {
            Want::Problem(id) => {
                let problem = self.problems.get(&id).ok_or(SimulationError::Missing(want))?;
                view.problems.insert(id, problem.clone());
                Ok(())
            }
            Want::Row(dataset, index) => {
                let row = self.datasets.get(&dataset).and_then(|rows| rows.get(index as usize));
                let row = row.ok_or(SimulationError::Missing(want))?;
                view.rows.insert((dataset, index), row.clone());
                Ok(())
            }
            Want::Tag(dataset, tag) => {
                let rows = self
                    .datasets
                    .get(&dataset)
                    .ok_or_else(|| SimulationError::Missing(Want::Tag(dataset, tag.clone())))?;
                let tags = rows.iter().map(|row| row.0["tags"][&tag].as_str().map(str::to_owned)).collect();
                view.tags.insert((dataset, tag), Arc::new(tags));
                Ok(())
            }
            Want::Reward(digest) => {
                // Scripted players judge without it.
                view.rewards.insert(digest, String::new());
                Ok(())
            }
        }
    }
}
