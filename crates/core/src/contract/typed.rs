//! Planners with types for their parameters and their memory, and what callers see of them.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};

use super::warning::slow;
use super::{
    Capabilities, Gates, Metric, Plan, PlanError, Planner, Recipe, Role, RowsAsked, RunState, Stages, StepView,
};
use crate::artifact::Digest;
use crate::config::{Ancestor, RunConfig, schema_of};
use crate::dataset::DatasetUse;
use crate::fault::{Fault, Faults};
use crate::id::ExecutionId;
use crate::prompt::Templates;
use crate::vocabulary_dropout::VocabularyDropout;

/// A planner with types for its parameters and its memory; [`Planner`] follows from it.
pub trait TypedPlanner: Send + Sync {
    /// The `parameters` of a resolved config.
    type Parameters: DeserializeOwned + Send + Sync + 'static;

    /// What is remembered between steps.
    type Memory: Serialize + DeserializeOwned + Clone + Send + Sync + 'static;

    /// As [`Planner::name`].
    const NAME: &'static str;

    /// As [`Planner::summary`].
    const SUMMARY: &'static str;

    /// As [`Planner::resolve`].
    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults>;

    /// The memory before step 0.
    fn first_memory(&self, config: &RunConfig, parameters: &Self::Parameters) -> Self::Memory;

    /// The stage of step 0; empty without stages.
    fn first_stage(&self, _parameters: &Self::Parameters) -> String {
        String::new()
    }

    /// Artifacts that are kept as long as the execution, such as the weights of versions; none by default.
    fn held(&self, _parameters: &Self::Parameters) -> Result<Vec<Digest>, PlanError> {
        Ok(Vec::new())
    }

    /// As [`Planner::size`].
    fn size(&self, _parameters: &Self::Parameters) -> Option<(u64, u64)> {
        None
    }

    /// As [`Planner::plan`], with the parameters and the memory of the run.
    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &Self::Parameters,
        memory: Self::Memory,
    ) -> Result<Plan, PlanError>;
}

/// A typed planner of runs; [`Recipe`] follows from it, where every method is described.
pub trait TypedRecipe: TypedPlanner<Parameters: JsonSchema> {
    fn metrics(&self) -> Vec<Metric>;

    fn roles(&self) -> Vec<Role>;

    fn capabilities(&self) -> Capabilities;

    fn datasets(&self, _parameters: &Self::Parameters) -> Vec<DatasetUse> {
        Vec::new()
    }

    fn rows_asked(&self, _parameters: &Self::Parameters) -> Result<Option<RowsAsked>, PlanError> {
        Ok(None)
    }

    fn stages(&self, _parameters: &Self::Parameters) -> Option<Stages> {
        None
    }

    fn vocabulary_dropout(
        &self,
        _config: &RunConfig,
        _parameters: &Self::Parameters,
    ) -> Option<(&'static str, VocabularyDropout, String)> {
        None
    }

    fn compares_answers(&self, _parameters: &Self::Parameters) -> bool {
        true
    }

    fn conversations(&self, _parameters: &Self::Parameters) -> Option<&'static str> {
        None
    }

    /// The sums over a run of the learning rates of an adapter's optimizer steps, each with the pointer of its rate.
    fn sums_of_rates(&self, _config: &RunConfig, _parameters: &Self::Parameters) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn templates(&self) -> Templates {
        Templates::of_code()
    }

    fn gates(&self, _parameters: &Self::Parameters) -> Option<Gates> {
        None
    }

    fn judge(&self, _parameters: &Self::Parameters) -> Option<(&'static str, Ancestor)> {
        None
    }

    fn recorded_metrics(&self, _parameters: &Self::Parameters) -> Vec<Metric> {
        self.metrics()
    }
}

/// The parameters of a resolved config.
pub fn parameters<T: DeserializeOwned>(config: &RunConfig) -> Result<T, PlanError> {
    Ok(T::deserialize(&config.parameters)?)
}

impl<P: TypedPlanner> Planner for P {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn summary(&self) -> &'static str {
        P::SUMMARY
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        TypedPlanner::resolve(self, config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = parameters(config)?;
        let state = RunState::first(run, config, &self.first_memory(config, &parameters))?;
        Ok(state.in_stage(self.first_stage(&parameters)).keeping(self.held(&parameters)?))
    }

    fn size(&self, parameters: &serde_json::Value) -> Option<(u64, u64)> {
        TypedPlanner::size(self, &P::Parameters::deserialize(parameters).ok()?)
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = view.once("parameters", || parameters(&run.config))?;
        let memory = view.once("memory", || run.memory::<P::Memory>())?;
        TypedPlanner::plan(self, run, view, &parameters, P::Memory::clone(&memory))
    }
}

impl<R: TypedRecipe> Recipe for R {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<R::Parameters>()
    }

    fn metrics(&self) -> Vec<Metric> {
        TypedRecipe::metrics(self)
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(TypedRecipe::datasets(self, &parameters(config)?))
    }

    fn rows_asked(&self, config: &RunConfig) -> Result<Option<RowsAsked>, PlanError> {
        TypedRecipe::rows_asked(self, &parameters(config)?)
    }

    fn templates(&self) -> Templates {
        TypedRecipe::templates(self)
    }

    fn warnings(&self, config: &RunConfig) -> Result<Vec<Fault>, PlanError> {
        let sums = self.sums_of_rates(config, &parameters(config)?);
        Ok(sums.into_iter().filter_map(|(pointer, sum)| slow(pointer, sum)).collect())
    }

    fn conversations(&self, config: &RunConfig) -> Result<Option<&'static str>, PlanError> {
        Ok(TypedRecipe::conversations(self, &parameters(config)?))
    }

    fn stages(&self, config: &RunConfig) -> Result<Option<Stages>, PlanError> {
        Ok(TypedRecipe::stages(self, &parameters(config)?))
    }

    fn vocabulary_dropout(
        &self,
        config: &RunConfig,
    ) -> Result<Option<(&'static str, VocabularyDropout, String)>, PlanError> {
        Ok(TypedRecipe::vocabulary_dropout(self, config, &parameters(config)?))
    }

    fn compares_answers(&self, config: &RunConfig) -> Result<bool, PlanError> {
        Ok(TypedRecipe::compares_answers(self, &parameters(config)?))
    }

    fn gates(&self, config: &RunConfig) -> Result<Option<Gates>, PlanError> {
        Ok(TypedRecipe::gates(self, &parameters(config)?))
    }

    fn judge(&self, config: &RunConfig) -> Result<Option<(&'static str, Ancestor)>, PlanError> {
        Ok(TypedRecipe::judge(self, &parameters(config)?))
    }

    fn roles(&self) -> Vec<Role> {
        TypedRecipe::roles(self)
    }

    fn capabilities(&self) -> Capabilities {
        TypedRecipe::capabilities(self)
    }

    fn recorded_metrics(&self, config: &RunConfig) -> Result<Vec<&'static str>, PlanError> {
        let recorded = TypedRecipe::recorded_metrics(self, &parameters(config)?);
        Ok(recorded.iter().map(|metric| metric.name).collect())
    }
}
