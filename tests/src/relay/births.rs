//! Fresh adapters for the members.

use lyceum_core::{
    id::{PopulationId, VersionId},
    recipe::{BirthRecord, MemberRecord, PlanError, PopulationRecord, Role, VersionRecord, WorkItem},
    seed::derive,
    work::{EvolvePayload, Payload, Requirements, WorkKey},
};

use super::{leg::Leg, name};

impl Leg<'_> {
    /// Whether every member has weights; requests missing ones.
    pub(super) fn born(&mut self) -> Result<bool, PlanError> {
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
