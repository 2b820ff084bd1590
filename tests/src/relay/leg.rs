//! One step.

use lyceum_core::{
    config::PopulationConfig,
    recipe::{Plan, PlanError, RunState, StepView, Want},
    work::{AdapterRef, WorkKey},
};

use super::{Memory, Parameters};

/// One step.
pub(super) struct Leg<'a> {
    pub(super) run: &'a RunState,
    pub(super) step: &'a StepView,
    pub(super) parameters: Parameters,
    pub(super) memory: Memory,
    pub(super) plan: Plan,
}

impl<'a> Leg<'a> {
    pub(super) fn of(run: &'a RunState, step: &'a StepView) -> Result<Self, PlanError> {
        let parameters = serde_json::from_value(run.config.parameters.clone()).unwrap_or_default();
        Ok(Self {
            run,
            step,
            parameters,
            memory: run.memory()?,
            plan: Plan::default(),
        })
    }

    pub(super) fn plan(mut self) -> Result<Plan, PlanError> {
        if !self.born()? {
            return Ok(self.plan);
        }
        if let Some(problem) = self.memory.last_problem
            && !self.step.problems.contains_key(&problem)
        {
            self.plan.wants.push(Want::Problem(problem));
            return Ok(self.plan);
        }
        let chunks = self.parameters.chunks;
        let mut checked = 0;
        for chunk in 0..chunks {
            self.propose(chunk);
            if self.check(chunk)? {
                checked += 1;
            }
        }
        if checked == chunks {
            self.update()?;
        }
        Ok(self.plan)
    }

    pub(super) fn population(&self) -> Result<(&'a String, &'a PopulationConfig), PlanError> {
        let population = self.run.config.populations.first_key_value();
        population.ok_or_else(|| PlanError::Other("there is no population".to_owned()))
    }

    pub(super) fn adapters(&self) -> Vec<AdapterRef> {
        self.memory
            .members
            .iter()
            .filter_map(|(_, version, _)| *version)
            .collect()
    }

    pub(super) fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }
}
