//! A recipe that records the work it plans, for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::config::RunConfig;
use crate::contract::{Plan, PlanError, Planner, Recipe, RunState, StepView};
use crate::fault::Faults;
use crate::id::ExecutionId;
use crate::work::{Payload, WorkKey};

/// A recipe that records the work it plans.
pub(crate) struct Watched<'r> {
    recipe: &'r dyn Recipe,
    work: Mutex<BTreeMap<WorkKey, Payload>>,
}

impl<'r> Watched<'r> {
    pub(crate) fn new(recipe: &'r dyn Recipe) -> Self {
        Self { recipe, work: Mutex::default() }
    }

    /// All work planned.
    pub(crate) fn work(self) -> BTreeMap<WorkKey, Payload> {
        self.work.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Planner for Watched<'_> {
    fn name(&self) -> &'static str {
        self.recipe.name()
    }

    fn summary(&self) -> &'static str {
        self.recipe.summary()
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        self.recipe.resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        self.recipe.begin(run, config)
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let plan = self.recipe.plan(run, view)?;
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        for item in &plan.work {
            work.entry(item.key.clone()).or_insert_with(|| item.payload.clone());
        }
        Ok(plan)
    }
}

impl Recipe for Watched<'_> {}
