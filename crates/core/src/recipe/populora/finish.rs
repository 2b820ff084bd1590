//! The end of a step: ratings, archive, updates, evolution, metrics, and what is remembered.

use super::play::{Match, Turn};
use crate::{
    archive::Archive,
    rating::Rating,
    recipe::{
        ArchiveInsertionRecord, Plan, PlanError, Role,
        selfplay::{Judged, Tally, near_duplicates},
    },
    work::MemberUpdated,
};

/// The lowest objective that a valid problem can have (Eq. 2), from which qd_score counts.
const LOWEST_OBJECTIVE: f32 = 0.0;
/// Fingerprints that are remembered.
const FINGERPRINTS: usize = 4096;

impl Turn<'_> {
    /// Everything after the last attempt was graded.
    pub(super) fn conclude(mut self, matches: &[Match], judged: Vec<(Judged, f32)>) -> Result<Plan, PlanError> {
        let decided = self.rate(matches, &judged);
        let insertions = self.illuminate(&judged);
        let learners = self.learners(&judged);
        let Some(updated) = self.scene.update(&learners)? else {
            return Ok(self.scene.plan);
        };
        let run = self.scene.run;
        let played: Vec<(usize, Role, Rating)> = (0..self.scene.members.len())
            .flat_map(|place| {
                self.scene.members[place]
                    .roles
                    .clone()
                    .into_iter()
                    .map(move |role| (place, role))
            })
            .map(|(place, role)| (place, role, self.rating(place, role)))
            .collect();
        let players: Vec<_> = self
            .scene
            .members
            .iter()
            .map(|member| (member.id(run.run), member.roles[0]))
            .collect();
        let by_place: Vec<(usize, &MemberUpdated)> = updated
            .iter()
            .filter_map(|new| Some((players.iter().position(|(id, _)| *id == new.member)?, *new)))
            .collect();
        self.scene.adopt(&updated);
        let Some(births) = self.evolve()? else {
            return Ok(self.scene.plan);
        };
        let duplicates = near_duplicates(judged.iter().map(|(judged, _)| judged), &self.memory.fingerprints);
        self.remember(&judged);
        let kinds = &self.parameters.problems.types;
        let tally = Tally {
            view: self.scene.view,
            judged: &judged,
            duplicates: &duplicates,
            practice: &[],
            matchups: &decided,
            ratings: &played,
            updated: &by_place,
            coverage: self.memory.archive.coverage(self.parameters.archive.cells),
            qd_score: self.memory.archive.qd_score(LOWEST_OBJECTIVE),
            births,
            pool_size: self.memory.pool.len(kinds),
            archive_insertions: insertions,
        };
        let rows = players
            .iter()
            .enumerate()
            .map(|(place, (id, role))| tally.member(place, *role, *id));
        self.scene.plan.records.metrics.extend(rows.chain([tally.run()]));
        self.memory.members = std::mem::take(&mut self.scene.members);
        self.scene.plan.finish = Some(run.next("", &self.memory)?);
        Ok(self.scene.plan)
    }

    /// Puts valid problems into the archive by index, with the teacher's reward as the objective. How many entered.
    fn illuminate(&mut self, judged: &[(Judged, f32)]) -> usize {
        let archive: &mut Archive = &mut self.memory.archive;
        let entered = judged.iter().filter_map(|(judged, reward)| {
            let cell = judged.cell?;
            Some(ArchiveInsertionRecord {
                cell,
                problem: judged.id,
                status: archive.insert(cell, *reward)?,
                objective: *reward,
            })
        });
        let entered: Vec<_> = entered.collect();
        let count = entered.len();
        if !self.scene.settled {
            self.scene.plan.records.insertions.extend(entered);
        }
        count
    }

    fn remember(&mut self, judged: &[(Judged, f32)]) {
        let problems = &self.parameters.problems;
        let samples = self.parameters.proposals_per_prompt;
        for (judged, _) in judged.iter().filter(|(judged, _)| judged.enters(problems.pool_filter)) {
            let (request, sample) = (judged.request, judged.sample);
            let run = self.scene.run.run;
            self.memory
                .pool
                .add(judged.kind, run, &judged.source, request, sample, samples);
        }
        self.memory.pool.trim(problems.pool_size);
        let fingerprints = &mut self.memory.fingerprints;
        fingerprints.extend(judged.iter().filter_map(|(judged, _)| judged.fingerprint));
        let beyond = fingerprints.len().saturating_sub(FINGERPRINTS);
        fingerprints.drain(..beyond);
    }
}
