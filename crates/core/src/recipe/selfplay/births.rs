//! Fresh adapters for the members that a run begins with.

use std::collections::BTreeMap;

use super::Scene;
use crate::{
    id::{PopulationId, VersionId},
    recipe::{BirthRecord, MemberRecord, PlanError, PopulationRecord, VersionRecord},
    work::{EvolvePayload, Payload},
};

impl Scene<'_> {
    /// Whether every member has weights; asks for those of members that have none.
    pub(crate) fn born(&mut self) -> Result<bool, PlanError> {
        if self.members.iter().all(|member| member.adapter.is_some()) {
            return Ok(true);
        }
        let population = PopulationId::of(self.run.run, self.population_name);
        self.plan.records.populations.push(PopulationRecord {
            id: population,
            name: self.population_name.to_owned(),
            base_model: self.population.base_model.clone(),
            lora: self.population.lora.clone(),
        });
        let members = std::mem::take(&mut self.members);
        for (chunk, mut member) in (0..).zip(members) {
            let id = member.id(self.run.run);
            let key = self.key("birth", chunk);
            let seed = self.seed(&key, 0);
            self.plan.records.members.push(MemberRecord {
                id,
                population,
                name: member.name.clone(),
                roles: member.roles.clone(),
            });
            if let Some(born) = self.view.evolve(&key)? {
                self.plan.records.versions.push(VersionRecord {
                    id: born.version.version,
                    member: id,
                    ordinal: 0,
                    artifact: born.version.artifact,
                    optimizer: born.version.optimizer,
                });
                self.plan.records.births.push(BirthRecord {
                    child: id,
                    source: key.clone(),
                    operator: "init".to_owned(),
                    parameters: serde_json::json!({}),
                    seed,
                    parents: Vec::new(),
                    replaces: None,
                    notes: born.notes.clone(),
                });
                member.adapter = Some(born.version);
            } else if !self.asked(&key) {
                let payload = EvolvePayload {
                    base_model: self.population.base_model.clone(),
                    lora: self.population.lora.clone(),
                    operator: "init".to_owned(),
                    parameters: BTreeMap::new(),
                    parents: Vec::new(),
                    seed,
                    to: VersionId::of(id, 0),
                };
                self.ask(key, Payload::Evolve(payload));
            }
            self.members.push(member);
        }
        Ok(self.members.iter().all(|member| member.adapter.is_some()))
    }
}
