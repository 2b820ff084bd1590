//! The end of a step: ratings, archive, updates, evolution, metrics, and what is remembered.

use super::play::{Match, Turn};
use crate::{
    rating::Rating,
    recipe::{
        Plan, PlanError, Role,
        selfplay::{Judged, Tally},
    },
    work::MemberUpdated,
};

/// The lowest objective that a valid problem can have (Eq. 2), from which qd_score counts.
const LOWEST_OBJECTIVE: f32 = 0.0;

impl Turn<'_> {
    /// Everything after the last attempt was graded.
    pub(super) fn conclude(mut self, matches: &[Match], judged: Vec<(Judged, f32)>) -> Result<Plan, PlanError> {
        let decided = self.rate(matches, &judged);
        let insertions = self.memory.experience.illuminate(&judged);
        let entered = insertions.len();
        if !self.scene.settled {
            self.scene.plan.records.insertions.extend(insertions);
        }
        let is_crossed = self.cross_play(&judged)?;
        let learners = self.learners(&judged);
        let updated = match self.scene.update(&learners)? {
            Some(updated) if is_crossed => updated,
            _ => return Ok(self.scene.plan),
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
        let duplicates = self.memory.experience.near_duplicates(&judged);
        let samples = self.parameters.proposals_per_prompt;
        self.memory
            .experience
            .remember(run.run, &judged, &self.parameters.problems, samples);
        let kinds = &self.parameters.problems.types;
        let tally = Tally {
            view: self.scene.view,
            judged: &judged,
            duplicates: &duplicates,
            practice: &[],
            matchups: &decided,
            ratings: &played,
            updated: &by_place,
            coverage: self.memory.experience.archive.coverage(self.parameters.archive.cells),
            qd_score: self.memory.experience.archive.qd_score(LOWEST_OBJECTIVE),
            births,
            pool_size: self.memory.experience.pool.len(kinds),
            archive_insertions: entered,
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
}
