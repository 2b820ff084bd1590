//! A small recipe with all features of a real one: births, rounds of proposals that are checked while others are still
//! being generated, most kinds of records, an update, and state carried between steps.

mod births;
mod leg;
mod problems;
mod update;

use lyceum_core::{
    config::{RunConfig, schema_of},
    fault::Faults,
    id::{ExecutionId, MemberId, ProblemId},
    recipe::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, RunState, StepView},
    work::AdapterRef,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::leg::Leg;

/// The size of the relay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Items per phase.
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Problems per item.
    #[schemars(range(min = 1))]
    pub problems: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { chunks: 3, problems: 4 }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Memory {
    members: Vec<(MemberId, Option<AdapterRef>, u32)>,
    last_problem: Option<ProblemId>,
}

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Relay;

impl Planner for Relay {
    fn name(&self) -> &'static str {
        "relay"
    }

    fn summary(&self) -> &'static str {
        "Passes scripted work through every kind of phase."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters: Parameters = serde_json::from_value(config.parameters.take()).unwrap_or_default();
        config.parameters = serde_json::json!(parameters);
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let groups = config.populations.values().flat_map(|population| &population.members);
        let count = groups.map(|group| group.count).sum();
        let members = (0..count)
            .map(|index| (MemberId::of(run, &name(index)), None, 0))
            .collect();
        let memory = Memory {
            members,
            last_problem: None,
        };
        RunState::first(run, config, &memory)
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        Leg::of(run, step)?.plan()
    }
}

impl Recipe for Relay {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn metrics(&self) -> Vec<Metric> {
        ["valid_share", "ordinal"]
            .map(|name| Metric::number(name, &[]))
            .to_vec()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            rates: true,
            evolves: true,
            archives: true,
            ..Capabilities::default()
        }
    }
}

fn name(index: u32) -> String {
    format!("member-{index}")
}
