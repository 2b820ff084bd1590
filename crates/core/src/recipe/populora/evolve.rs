//! Evolution: children take the places of the weakest (PopuLoRA, section 3.3, phase 5).

use super::play::Turn;
use crate::{
    evolution::{Lineage, Replacement, Standing, replacements},
    id::{MemberId, PopulationId, VersionId},
    recipe::{MemberRecord, PlanError, RatingRecord, Role, VersionRecord, selfplay::Living},
    work::{AdapterRef, EvolvePayload, Payload},
};

impl Turn<'_> {
    /// Replaces the weakest where the step is due for it, but not at the end of the run, where children would never learn. How
    /// many were born, once all are.
    pub(super) fn evolve(&mut self) -> Result<Option<usize>, PlanError> {
        let run = self.scene.run;
        let is_last = run.step + 1 >= run.config.steps;
        if is_last || !self.parameters.evolution.due(run.step) {
            return Ok(Some(0));
        }
        let standings = self.standings();
        let seed = run.config.seed;
        let replaced = replacements(
            &standings,
            &self.parameters.evolution,
            &self.parameters.rating,
            seed,
            run.step,
        );
        let adapters: Vec<(MemberId, AdapterRef)> = self
            .scene
            .members
            .iter()
            .filter_map(|member| Some((member.id(run.run), member.adapter?)))
            .collect();
        let mut is_complete = true;
        for (chunk, replacement) in (0..).zip(&replaced) {
            let parents = replacement.parents.iter().filter_map(|parent| {
                adapters
                    .iter()
                    .find(|(member, _)| member == parent)
                    .map(|(_, adapter)| *adapter)
            });
            let born = self.replace(chunk, replacement, parents.collect())?;
            is_complete &= born;
        }
        Ok(is_complete.then_some(replaced.len()))
    }

    fn standings(&self) -> Vec<Standing> {
        let run = self.scene.run;
        let standing = |(place, living): (usize, &Living)| {
            let member = living.id(run.run);
            Standing {
                member,
                roles: living
                    .roles
                    .iter()
                    .map(|&role| (role, self.rating(place, role)))
                    .collect(),
                protected: self
                    .memory
                    .protection
                    .protects(member, run.step, &self.parameters.evolution),
            }
        };
        self.scene.members.iter().enumerate().map(standing).collect()
    }

    /// Asks for a child and, once it is there, puts it in the place of the dead. Its name is given either way, so that names do
    /// not depend on which child is there first.
    fn replace(&mut self, chunk: u32, replacement: &Replacement, parents: Vec<AdapterRef>) -> Result<bool, PlanError> {
        let run = self.scene.run;
        let dead = self
            .scene
            .members
            .iter()
            .position(|member| member.id(run.run) == replacement.dead);
        let place = dead.ok_or_else(|| PlanError::Other(format!("{} cannot die twice", replacement.dead)))?;
        let roles: Vec<Role> = self.scene.members[place].roles.clone();
        let mut child = Living::unborn(self.memory.names.next(&roles), roles, run.step);
        let id = child.id(run.run);
        let key = self.scene.key("evolve", chunk);
        if !self.scene.asked(&key) {
            let payload = EvolvePayload {
                base_model: self.scene.population.base_model.clone(),
                lora: self.scene.population.lora.clone(),
                operator: replacement.operator.name.to_owned(),
                parameters: replacement.parameters.clone(),
                parents: parents.clone(),
                seed: replacement.seed,
                to: VersionId::of(id, 0),
            };
            self.scene.ask(key.clone(), Payload::Evolve(payload));
        }
        let Some(born) = self.scene.view.evolve(&key)? else {
            return Ok(false);
        };
        let lineage = Lineage {
            child: id,
            source: key,
            parents: parents.iter().map(|parent| parent.version).collect(),
            notes: born.notes.clone(),
        };
        let (birth, death) = replacement.records(lineage)?;
        let records = &mut self.scene.plan.records;
        records.members.push(MemberRecord {
            id,
            population: PopulationId::of(run.run, self.scene.population_name),
            name: child.name.clone(),
            roles: child.roles.clone(),
        });
        records.versions.push(VersionRecord {
            id: born.version.version,
            member: id,
            ordinal: 0,
            artifact: born.version.artifact,
            optimizer: born.version.optimizer,
        });
        records.births.push(birth);
        records.deaths.push(death);
        self.memory.ratings.remove(replacement.dead);
        self.memory.protection.remove(replacement.dead);
        self.memory.protection.born(id, run.step);
        for &(role, rating) in &replacement.ratings {
            self.memory.ratings.set(id, role, rating);
            let (mu, sigma) = (rating.mu, rating.sigma);
            records.ratings.push(RatingRecord {
                member: id,
                role,
                mu,
                sigma,
            });
        }
        child.adapter = Some(born.version);
        self.scene.members[place] = child;
        Ok(true)
    }
}
