//! Evolution: children replace the weakest (PopuLoRA, section 3.3, phase 5).

use super::step::Step;
use crate::contract::{GeometryRecord, MemberRecord, PlanError, RatingRecord, VersionRecord};
use crate::evolution::{Lineage, Replacement, Standing, inherited, replacements};
use crate::id::{MemberId, PopulationId, VersionId};
use crate::kit::{Member, Progress, join};
use crate::rating::Rating;
use crate::work::{AdapterRef, EvolvePayload, Geometry};

impl Step<'_> {
    /// Replaces the weakest members in steps where it is due, but not at the end of the run, where children would never
    /// learn. Returns the number of births.
    pub(super) fn evolve(&mut self) -> Progress<usize> {
        let run = self.scene.draft.run;
        let is_last = run.step + 1 >= run.config.steps;
        let evolution = &self.parameters.evolution;
        if is_last || !evolution.due(run.step) {
            return Ok(0);
        }
        let standings = self.standings();
        let replaced = replacements(&standings, evolution, &self.parameters.rating, run.config.seed, run.step);
        let members = self.scene.draft.members.iter();
        let adapters: Vec<(MemberId, AdapterRef)> =
            members.filter_map(|member| Some((member.id(run.run), member.adapter?))).collect();
        let children = (0..).zip(&replaced);
        let born = join(children, |(chunk, replacement)| {
            let adapter = |parent: &MemberId| {
                let found = adapters.iter().find(|(member, _)| member == parent);
                found.map(|(_, adapter)| *adapter)
            };
            let parents: Vec<AdapterRef> = replacement.parents.iter().filter_map(adapter).collect();
            // The first child is measured with the whole population, the others with their parents.
            let measured = match chunk {
                0 => adapters.clone(),
                _ => replacement.parents.iter().copied().zip(parents.iter().copied()).collect(),
            };
            self.replace(chunk, replacement, parents, &measured)
        })?;
        Ok(born.len())
    }

    fn standings(&self) -> Vec<Standing> {
        let run = self.scene.draft.run;
        let standing = |(place, living): (usize, &Member)| {
            let member = living.id(run.run);
            let roles = living.roles.iter();
            let protection = &self.memory.protection;
            Standing {
                member,
                roles: roles.map(|&role| (role, self.rating(place, role))).collect(),
                protected: protection.protects(member, run.step, &self.parameters.evolution),
            }
        };
        self.scene.draft.members.iter().enumerate().map(standing).collect()
    }

    /// Puts a child in the place of the dead member. It is named before it exists, so names do not depend on which
    /// child is finished first.
    fn replace(
        &mut self,
        chunk: u32,
        replacement: &Replacement,
        parents: Vec<AdapterRef>,
        measured: &[(MemberId, AdapterRef)],
    ) -> Progress<()> {
        let draft = &mut self.scene.draft;
        let run = draft.run;
        let dead = draft.members.iter().position(|member| member.id(run.run) == replacement.dead);
        let place = dead.ok_or_else(|| PlanError::Other(format!("{} cannot die twice", replacement.dead)))?;
        let (population_name, population) = draft.population(place)?;
        let roles = draft.members[place].roles.clone();
        let evolution = &self.parameters.evolution;
        let members = draft.members.iter();
        let rates = members.filter(|member| replacement.parents.contains(&member.id(run.run)));
        let rates: Vec<f64> = rates.filter_map(|parent| parent.learning_rate).collect();
        let mut child = Member {
            population: draft.members[place].population.clone(),
            learning_rate: evolution.learning_rate.inherited(&rates, run.config.seed, run.step, chunk),
            ..Member::unborn(self.memory.names.next(&roles), roles, run.step)
        };
        let id = child.id(run.run);
        let key = draft.key("evolve", chunk);
        let born = draft.evolve(&key, || EvolvePayload {
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
            operator: replacement.operator.name.to_owned(),
            parameters: replacement.parameters.clone(),
            parents: parents.clone(),
            seed: replacement.seed,
            to: VersionId::of(id, 0),
            measured: measured.iter().map(|(_, adapter)| *adapter).collect(),
        })?;
        let lineage = Lineage {
            child: id,
            source: key,
            parents: parents.iter().map(|parent| parent.version).collect(),
            notes: born.notes.clone(),
        };
        let (birth, death) = replacement.records(lineage)?;
        let records = &mut draft.plan.records;
        records.members.push(MemberRecord {
            id,
            population: PopulationId::of(run.run, population_name),
            name: child.name.clone(),
            roles: child.roles.clone(),
        });
        records.versions.push(VersionRecord {
            id: born.version.version,
            member: id,
            ordinal: 0,
            artifact: born.version.artifact,
            optimizer: born.version.optimizer,
            learning_rate: child.learning_rate,
        });
        records.births.push(birth);
        records.deaths.push(death);
        if let Some(geometry) = &born.geometry {
            let child = std::iter::once((id, born.version.version));
            let others = measured.iter().map(|(member, adapter)| (*member, adapter.version));
            let rows: Vec<GeometryRecord> = of_members(geometry, child.chain(others), chunk).collect();
            // With the child, they say more than what the members' updates measured.
            let is_new = |version| rows.iter().all(|row| row.of.version != version);
            records.geometry.retain(|known| is_new(known.of.version));
            records.geometry.extend(rows);
        }
        self.memory.ratings.remove(replacement.dead);
        self.memory.protection.remove(replacement.dead);
        self.memory.protection.born(id, run.step);
        let rating = &self.parameters.rating;
        let inherit = |parents: &[Rating]| inherited(parents, evolution, rating);
        let ratings = &mut self.memory.ratings;
        ratings.born(id, &child.roles, &replacement.parents, inherit, rating);
        records.ratings.extend(child.roles.iter().map(|&role| {
            let Rating { mu, sigma } = ratings.ratings.get(id, role, rating);
            RatingRecord { member: id, role, mu, sigma }
        }));
        child.adapter = Some(born.version);
        draft.members[place] = child;
        Ok(())
    }
}

/// The rows of a birth's geometry: of the child, and with the first child of the whole population.
fn of_members(
    geometry: &Geometry,
    members: impl Iterator<Item = (MemberId, VersionId)>,
    chunk: u32,
) -> impl Iterator<Item = GeometryRecord> {
    let rows = members.take(if chunk == 0 { usize::MAX } else { 1 });
    rows.filter_map(|(member, version)| {
        let found = geometry.by_version().find(|found| found.of.version == version)?;
        Some(GeometryRecord { member, of: found.of, pairs: found.pairs })
    })
}
