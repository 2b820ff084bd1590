//! A recipe of one step whose items follow commands.

use lyceum_core::config::{RunConfig, schema_of};
use lyceum_core::fault::Faults;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Plan, PlanError, Planner, Recipe, RunState, StepView, WorkItem, WorkState};
use lyceum_core::work::{
    BaseModel, Compute, Payload, Prompt, Requirements, RolloutPayload, RolloutRequest, Sampling, WorkKey,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ends the process that plans the run.
pub const END_THE_PLANNER: &str = "end the planner";

/// Commands for [`crate::handlers`]: `ok`, `wait MILLIS`, `block` (its thread, until a claim is renewed),
/// `panic`, `abort`, `refuse`, `stumble` (fails once and is retried), `lose-device` (the same, for a lost GPU), `lack TRIES` (a worker has no base, in its first tries), `need MODEL`. [`END_THE_PLANNER`] is for the planner.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// One item each.
    pub items: Vec<String>,
}

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Script;

impl Planner for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn summary(&self) -> &'static str {
        "Does what its items' words say."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        RunState::first(run, config, &())
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        let parameters: Parameters = serde_json::from_value(run.config.parameters.clone())?;
        if parameters.items.iter().any(|word| word == END_THE_PLANNER) {
            std::process::abort();
        }
        let work = (0..).zip(&parameters.items).map(|(chunk, word)| item(run.step, chunk, word)).collect();
        let ended = step.work.values().filter(|state| matches!(state, WorkState::Done(_)));
        let over = ended.count() == parameters.items.len();
        let finish = over.then(|| run.next("", &())).transpose()?;
        Ok(Plan { work, finish, ..Plan::default() })
    }
}

impl Recipe for Script {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }
}

fn item(step: u32, chunk: u32, word: &str) -> WorkItem {
    let model = word.strip_prefix("need ").unwrap_or("tiny").to_owned();
    WorkItem {
        key: WorkKey::new(step, "act").chunk(chunk),
        requirements: Requirements { base_model: Some(model.clone()), ..Requirements::default() },
        payload: Payload::Rollout(RolloutPayload {
            requests: vec![RolloutRequest::new("word".to_owned(), Prompt::Text(word.to_owned()), 1, u64::from(chunk))],
            ..RolloutPayload::new(BaseModel { name: model, revision: None }, Compute::default(), Sampling::default())
        }),
    }
}
