//! Fresh adapters for a run's founding members.

use std::collections::BTreeMap;

use crate::{
    contract::{BirthRecord, MemberRecord, PopulationRecord, VersionRecord},
    id::{PopulationId, VersionId},
    kit::{Draft, Progress, join},
    work::EvolvePayload,
};

impl Draft<'_> {
    /// Creates weights for members that have none, in the run's first step.
    pub fn born(&mut self) -> Progress<()> {
        if self.members.iter().all(|member| member.adapter.is_some()) {
            return Ok(());
        }
        let populations = &self.run.config.populations;
        let records = populations.iter().map(|(name, population)| PopulationRecord {
            id: PopulationId::of(self.run.run, name),
            name: name.clone(),
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
        });
        self.plan.records.populations.extend(records);
        join(0..self.members.len(), |place| self.birth(place)).map(drop)
    }

    fn birth(&mut self, place: usize) -> Progress<()> {
        let (name, population) = self.population(place)?;
        let key = self.key("birth", u32::try_from(place).unwrap_or(u32::MAX));
        let seed = self.seed(&key, 0);
        let member = &self.members[place];
        let id = member.id(self.run.run);
        self.plan.records.members.push(MemberRecord {
            id,
            population: PopulationId::of(self.run.run, name),
            name: member.name.clone(),
            roles: member.roles.clone(),
        });
        let born = self.evolve(&key, || EvolvePayload {
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
            operator: "init".to_owned(),
            parameters: BTreeMap::new(),
            parents: Vec::new(),
            seed,
            to: VersionId::of(id, 0),
            measured: Vec::new(),
        })?;
        self.plan.records.versions.push(VersionRecord {
            id: born.version.version,
            member: id,
            ordinal: 0,
            artifact: born.version.artifact,
            optimizer: born.version.optimizer,
            learning_rate: self.members[place].learning_rate,
        });
        self.plan.records.births.push(BirthRecord {
            child: id,
            source: key,
            operator: "init".to_owned(),
            parameters: serde_json::json!({}),
            seed,
            parents: Vec::new(),
            replaces: None,
            notes: born.notes.clone(),
        });
        self.members[place].adapter = Some(born.version);
        Ok(())
    }
}
