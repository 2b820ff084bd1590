//! Matchups and their prompts (PopuLoRA, section 3.3, phases 1 and 2).

use std::sync::Arc;

use super::step::Step;
use crate::{
    contract::Role,
    kit::{Living, Pause, Progress, both, code::Ask},
    matchmaking::pair,
    rating::{Rating, Ratings},
    seed::stream,
};

/// A match of a teacher and a student, as positions among the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) teacher: usize,
    pub(super) student: usize,
}

impl Step<'_> {
    /// The matchups of the step. A member in both roles plays itself.
    pub(super) fn pair(&self) -> Vec<Match> {
        let run = self.scene.draft.run;
        let playing = |role: Role, ratings: &Ratings| -> (Vec<usize>, Vec<Rating>) {
            let members = self.scene.draft.members.iter().enumerate();
            let members = members.filter(|(_, member)| member.plays(role));
            let rating = |member: &Living| ratings.get(member.id(run.run), role, &self.parameters.rating);
            members.map(|(place, member)| (place, rating(member))).unzip()
        };
        let ratings = &self.memory.ratings;
        let (teachers, of_teachers) = playing(Role::Teacher, ratings.to_solve(self.parameters.matchup_score));
        let (students, of_students) = playing(Role::Student, &ratings.ratings);
        let mut random = stream(run.config.seed, "pair", u64::from(run.step));
        let pairs = pair(&of_teachers, &of_students, &self.parameters.rating, &mut random);
        let matches = pairs.into_iter().map(|(teacher, student)| Match {
            teacher: teachers[teacher],
            student: students[student],
        });
        matches.collect()
    }

    /// Creates the members' first weights and fills the pool with its first problems, in step 0.
    pub(super) fn begin(&mut self, matches: &[Match]) -> Progress<()> {
        if self.scene.draft.run.step > 0 {
            return Ok(());
        }
        let born = self.scene.draft.born();
        let first = self.prompts(matches) * self.parameters.proposals_per_prompt;
        let seeded = self.scene.seed_pool(&mut self.memory.experience.pool, first);
        both(born, seeded).map(drop)
    }

    /// The prompts of the step, once the problems they show can be read: grouped by matchup, cycling through the types.
    pub(super) fn asks(&mut self, matches: &[Match]) -> Progress<Arc<Vec<Ask>>> {
        let view = self.scene.draft.view;
        let asks = view.once("asks", || {
            let ask = |index| self.ask(matches, index);
            Ok::<_, Pause>((0..self.prompts(matches)).map(ask).collect::<Vec<Ask>>())
        })?;
        self.scene
            .readable(asks.iter().flat_map(|ask| ask.shown.iter().copied()))?;
        Ok(asks)
    }

    fn ask(&self, matches: &[Match], index: u32) -> Ask {
        let each = self.parameters.prompts_per_matchup;
        let types = &self.parameters.problems.types;
        let Match { teacher, student } = matches[(index / each) as usize];
        let kind = types[(index % each) as usize % types.len()];
        Ask {
            index,
            kind,
            proposer: teacher,
            solver: student,
            shown: self.scene.draw_shown(&self.memory.experience.pool, kind, index),
        }
    }

    fn prompts(&self, matches: &[Match]) -> u32 {
        self.parameters.prompts_per_matchup * u32::try_from(matches.len()).unwrap_or(u32::MAX)
    }
}
