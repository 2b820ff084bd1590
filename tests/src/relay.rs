//! A small recipe with everything that a real one has: births, rounds of proposals that are checked while others are still
//! being written, records of most sorts, an update, and state from step to step.

use lyceum_core::{
    config::{RunConfig, schema_of},
    fault::Faults,
    id::{AttemptId, ExecutionId, MatchupId, MemberId, PopulationId, ProblemId, VersionId, WorkId},
    recipe::{
        ArchiveInsertionRecord, AttemptRecord, BirthRecord, InsertionStatus, MatchupRecord, MemberRecord, MetricRecord,
        ParentRelation, Plan, PlanError, PopulationRecord, ProblemKind, ProblemOutcomeRecord, ProblemRecord,
        RatingRecord, Recipe, Role, RunState, StepView, VersionRecord, Want, Winner, WorkItem,
    },
    seed::derive,
    verify::{Check, MathPair, Task},
    work::{
        AdapterRef, Compute, EvolvePayload, MemberUpdate, Optimizer, Payload, PolicyLoss, Prompt, Requirements,
        RolloutPayload, RolloutRequest, Sampling, SequenceRef, UpdatePayload, VerifyPayload, WorkKey,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How large the relay is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Items of a phase.
    #[schemars(range(min = 1))]
    pub chunks: u32,
    /// Problems an item.
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

impl Recipe for Relay {
    fn name(&self) -> &'static str {
        "relay"
    }

    fn summary(&self) -> &'static str {
        "Passes scripted work through every kind of phase."
    }

    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn metrics(&self) -> &'static [&'static str] {
        &["valid_share", "ordinal"]
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
        Ok(RunState {
            run,
            config: Arc::new(config.clone()),
            step: 0,
            stage: String::new(),
            completed: false,
            artifacts: Vec::new(),
            memory_version: 1,
            memory: serde_json::to_value(memory)?,
        })
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        Leg::of(run, step)?.plan()
    }
}

fn name(index: u32) -> String {
    format!("member-{index}")
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
        Ok(Self {
            run,
            step,
            parameters,
            memory: run.memory()?,
            plan: Plan::default(),
        })
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

    /// Whether every member has weights; asks for those that have none.
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
                }),
            });
        }
        Ok(self.memory.members.iter().all(|(_, version, _)| version.is_some()))
    }

    fn population(&self) -> Result<(&'a String, &'a lyceum_core::config::PopulationConfig), PlanError> {
        let population = self.run.config.populations.first_key_value();
        population.ok_or_else(|| PlanError::Other("there is no population".to_owned()))
    }

    fn adapters(&self) -> Vec<AdapterRef> {
        self.memory
            .members
            .iter()
            .filter_map(|(_, version, _)| *version)
            .collect()
    }

    fn key(&self, phase: &str, chunk: u32) -> WorkKey {
        WorkKey::new(self.run.step, phase).chunk(chunk)
    }

    fn propose(&mut self, chunk: u32) {
        let members = self.memory.members.len() as u32;
        let requests = (0..self.parameters.problems).map(|index| RolloutRequest {
            id: index.to_string(),
            prompt: Prompt::Text(format!("step {} chunk {chunk} problem {index}", self.run.step)),
            adapter: Some((chunk + index) % members),
            n: 1,
            seed: derive(
                self.run.config.seed,
                &self.key("propose", chunk).to_string(),
                u64::from(index),
            ),
            max_tokens: None,
        });
        let payload = RolloutPayload {
            compute: Compute::default(),
            base_model: lyceum_core::work::BaseModel {
                name: "tiny".to_owned(),
                revision: None,
            },
            adapters: self.adapters(),
            sampling: Sampling::default(),
            requests: requests.collect(),
            embedding: None,
            keep_tokens: true,
        };
        self.plan.work.push(WorkItem {
            key: self.key("propose", chunk),
            requirements: Requirements {
                base_model: Some("tiny".to_owned()),
                memory_bytes: 0,
            },
            payload: Payload::Rollout(payload),
        });
    }

    /// Asks for the checks of a chunk as soon as it is written, and records what they say. Whether they are there.
    fn check(&mut self, chunk: u32) -> Result<bool, PlanError> {
        let Some(written) = self.step.rollout(&self.key("propose", chunk))? else {
            return Ok(false);
        };
        let task = |(index, text): (usize, &String)| Task {
            id: index.to_string(),
            check: Check::Math(MathPair {
                gold: "1".to_owned(),
                answer: text.clone(),
            }),
        };
        let texts: Vec<&String> = written
            .generated
            .iter()
            .map(|generated| &generated.completions[0].text)
            .collect();
        self.plan.work.push(WorkItem {
            key: self.key("check", chunk),
            requirements: Requirements::default(),
            payload: Payload::Verify(VerifyPayload {
                tasks: texts.iter().copied().enumerate().map(task).collect(),
            }),
        });
        let Some(checked) = self.step.verify(&self.key("check", chunk))? else {
            return Ok(false);
        };
        let source = WorkId::of(self.run.run, &self.key("propose", chunk));
        for (index, verdict) in (0..).zip(&checked.verdicts) {
            let valid = verdict.correct == Some(true);
            let (member, version, _) =
                self.memory.members[((chunk + index) % self.memory.members.len() as u32) as usize];
            let by = (
                member,
                version.map_or(VersionId::of(member, 0), |version| version.version),
            );
            let problem = ProblemId::of(source, &index.to_string(), 0);
            let parents = self
                .memory
                .last_problem
                .map(|parent| (parent, ParentRelation::Reference));
            self.plan.records.problems.push(ProblemRecord {
                id: problem,
                index: chunk * self.parameters.problems + index,
                proposer: Some(by),
                source: Some(self.key("propose", chunk)),
                kind: ProblemKind::CodeO,
                prompt: "propose".to_owned(),
                proposal: texts[index as usize].clone(),
                valid,
                status: verdict.status,
                reason: verdict.reason.clone(),
                program: valid.then(|| "def f(x):\n    return x".to_owned()),
                values: serde_json::json!({ "input": "1", "output": "1" }),
                descriptor: valid.then_some([4.0, 1.0, 2.0, 1.0]),
                cell: valid.then_some(index),
                parents: parents.into_iter().collect(),
            });
            self.plan.records.attempts.push(AttemptRecord {
                id: AttemptId::of(source, &index.to_string(), 0),
                problem,
                solver: by,
                role: Role::Solver,
                sample: 0,
                text: "NUL \0 and \u{202e}".to_owned(),
                answer: Some("1".to_owned()),
                well_formed: true,
                status: verdict.status,
                reason: String::new(),
                correct: valid,
                reward: if valid { 1.0 } else { -0.5 },
                reward_parts: serde_json::json!({}),
                tokens: 3,
            });
            self.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem,
                solve_rate: valid.then_some(0.5),
                attempts: 1,
                reward: 0.5,
                reward_parts: serde_json::json!({}),
            });
            if valid {
                self.plan.records.insertions.push(ArchiveInsertionRecord {
                    cell: index,
                    problem,
                    status: InsertionStatus::New,
                    objective: 0.5,
                });
            }
        }
        Ok(true)
    }

    fn update(&mut self) -> Result<(), PlanError> {
        let (_, population) = self.population()?;
        let key = self.key("update", 0);
        let mut members = Vec::new();
        for (index, (member, version, ordinal)) in self.memory.members.iter().enumerate() {
            let Some(from) = *version else { continue };
            let mut sequences = Vec::new();
            for chunk in 0..self.parameters.chunks {
                let rollout_key = self.key("propose", chunk);
                let Some(tokens) = self.step.rollout(&rollout_key)?.and_then(|rollout| rollout.tokens) else {
                    continue;
                };
                sequences.push(SequenceRef {
                    rollout: WorkId::of(self.run.run, &rollout_key),
                    tokens,
                    request: (index % self.parameters.problems as usize).to_string(),
                    sample: 0,
                    advantage: 0.5,
                });
            }
            members.push(MemberUpdate {
                member: *member,
                from,
                to: VersionId::of(*member, ordinal + 1),
                kl_reference: None,
                sequences,
            });
        }
        self.plan.work.push(WorkItem {
            key: key.clone(),
            requirements: Requirements::default(),
            payload: Payload::Update(UpdatePayload {
                compute: Compute::default(),
                base_model: population.base_model.clone(),
                members,
                loss: PolicyLoss::default(),
                optimizer: Optimizer::default(),
                micro_batch_tokens: 1024,
                recompute: true,
                piece: None,
            }),
        });
        let Some(updated) = self.step.update(&key)? else {
            return Ok(());
        };
        for (slot, member) in self.memory.members.iter_mut().zip(&updated.members) {
            slot.1 = Some(member.version);
            slot.2 += 1;
            self.plan.records.versions.push(VersionRecord {
                id: member.version.version,
                member: slot.0,
                ordinal: slot.2,
                artifact: member.version.artifact,
                optimizer: member.version.optimizer,
            });
            self.plan.records.ratings.push(RatingRecord {
                member: slot.0,
                role: Role::Solver,
                mu: 25.0 + f64::from(slot.2),
                sigma: 8.0,
            });
            self.plan.records.metrics.push(MetricRecord {
                member: Some(slot.0),
                values: vec![f64::NAN, f64::from(slot.2)],
            });
        }
        let valid = self
            .plan
            .records
            .problems
            .iter()
            .filter(|problem| problem.valid)
            .count();
        let share = valid as f64 / self.plan.records.problems.len().max(1) as f64;
        self.plan.records.metrics.push(MetricRecord {
            member: None,
            values: vec![share, f64::NAN],
        });
        if let [(teacher, ..), (student, ..), ..] = self.memory.members[..] {
            self.plan.records.matchups.push(MatchupRecord {
                id: MatchupId::of(self.run.run, self.run.step, teacher, student),
                teacher,
                student,
                proposed: self.parameters.problems,
                valid: 0,
                solve_rate: None,
                predicted: 0.5,
                winner: Winner::Student,
            });
        }
        self.memory.last_problem = self.plan.records.problems.last().map(|problem| problem.id);
        self.plan.finish = Some(self.run.next("", &self.memory)?);
        Ok(())
    }
}
