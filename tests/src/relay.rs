//! A small recipe with all features of a real one: births, rounds of proposals that are checked while others are still
//! being generated, most kinds of records, an update, and state carried between steps.

mod problems;
mod update;

use lyceum_core::config::{PopulationConfig, RunConfig, schema_of};
use lyceum_core::fault::Faults;
use lyceum_core::id::{ExecutionId, MemberId, PopulationId, ProblemId, VersionId};
use lyceum_core::recipe::{
    BirthRecord, Capabilities, MemberRecord, Metric, Plan, PlanError, Planner, PopulationRecord, Recipe, Role,
    RunState, StepView, VersionRecord, Want, WorkItem,
};
use lyceum_core::seed::derive;
use lyceum_core::work::{AdapterRef, EvolvePayload, Payload, Requirements, WorkKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        let members = (0..count).map(|index| (MemberId::of(run, &name(index)), None, 0)).collect();
        let memory = Memory { members, last_problem: None };
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
        ["valid_share", "ordinal"].map(|name| Metric::number(name, &[])).to_vec()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { rates: true, evolves: true, archives: true, ..Capabilities::default() }
    }
}

fn name(index: u32) -> String {
    format!("member-{index}")
}

impl Leg<'_> {
    /// Whether every member has weights; requests missing ones.
    fn born(&mut self) -> Result<bool, PlanError> {
        let (_, population) = self.population()?;
        if self.memory.members.iter().all(|(_, version, _)| version.is_some()) {
            return Ok(true);
        }
        let population_id = PopulationId::of(self.run.run, "main");
        self.plan.records.populations.push(PopulationRecord {
            id: population_id,
            name: "main".to_owned(),
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
        });
        for (chunk, (member, version, _)) in (0..).zip(&mut self.memory.members) {
            let key = WorkKey::new(self.run.step, "birth").chunk(chunk);
            let seed = derive(self.run.config.seed, "birth", u64::from(chunk));
            self.plan.records.members.push(MemberRecord {
                id: *member,
                population: population_id,
                name: name(chunk),
                roles: vec![Role::Proposer, Role::Solver],
            });
            if let Some(born) = self.step.evolve(&key)? {
                self.plan.records.versions.push(VersionRecord {
                    id: born.version.version,
                    member: *member,
                    ordinal: 0,
                    artifact: born.version.artifact,
                    optimizer: None,
                    learning_rate: None,
                });
                self.plan.records.births.push(BirthRecord {
                    child: *member,
                    source: key.clone(),
                    operator: "init".to_owned(),
                    parameters: serde_json::json!({}),
                    seed,
                    parents: Vec::new(),
                    replaces: None,
                    notes: Vec::new(),
                });
                *version = Some(born.version);
            }
            self.plan.work.push(WorkItem {
                key,
                requirements: Requirements::default(),
                payload: Payload::Evolve(EvolvePayload {
                    base_model: population.base_model.clone(),
                    lora: population.lora.clone(),
                    operator: "init".to_owned(),
                    parameters: Default::default(),
                    parents: Vec::new(),
                    seed,
                    to: VersionId::of(*member, 0),
                    measured: Vec::new(),
                }),
            });
        }
        Ok(self.memory.members.iter().all(|(_, version, _)| version.is_some()))
    }
}

/// One step.
struct Leg<'a> {
    run: &'a RunState,
    step: &'a StepView,
    parameters: Parameters,
    memory: Memory,
    plan: Plan,
}

impl<'a> Leg<'a> {
    fn of(run: &'a RunState, step: &'a StepView) -> Result<Self, PlanError> {
        let parameters = serde_json::from_value(run.config.parameters.clone()).unwrap_or_default();
        Ok(Self { run, step, parameters, memory: run.memory()?, plan: Plan::default() })
    }

    fn plan(mut self) -> Result<Plan, PlanError> {
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

    fn population(&self) -> Result<(&'a String, &'a PopulationConfig), PlanError> {
        let population = self.run.config.populations.first_key_value();
        population.ok_or_else(|| PlanError::Other("there is no population".to_owned()))
    }

    fn adapters(&self) -> Vec<AdapterRef> {
        self.memory.members.iter().filter_map(|(_, version, _)| *version).collect()
    }

    fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }
}
