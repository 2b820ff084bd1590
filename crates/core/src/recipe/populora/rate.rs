//! Winners and the ratings that follow (PopuLoRA, appendix 6).

use super::{pair::Match, step::Step};
use crate::{
    id::MatchupId,
    rating::mean_solve_rate,
    recipe::{MatchupRecord, Role, Winner, code::Judged},
    reward::Solved,
};

impl Step<'_> {
    /// Decides every matchup in order, updates the ratings, and writes both.
    pub(super) fn rate(&mut self, matches: &[Match], judged: &[(Judged, f32)]) -> Vec<(usize, usize, Winner)> {
        let run = self.scene.draft.run;
        let each = (self.parameters.prompts_per_matchup * self.parameters.proposals_per_prompt) as usize;
        let mut decided = Vec::with_capacity(matches.len());
        for (one, proposals) in matches.iter().zip(judged.chunks(each.max(1))) {
            let solved: Vec<Option<Solved>> = proposals.iter().map(|(judged, _)| judged.solved()).collect();
            let student_score = self.parameters.matchup_score.of_student(&solved);
            let [teacher, student] =
                [one.teacher, one.student].map(|place| self.scene.draft.members[place].id(run.run));
            let (predicted, winner) = self.memory.ratings.record(
                (teacher, Role::Teacher),
                (student, Role::Student),
                student_score,
                &self.parameters.rating,
            );
            self.scene.draft.plan.records.matchups.push(MatchupRecord {
                id: MatchupId::of(run.run, run.step, teacher, student),
                teacher,
                student,
                proposed: proposals.len() as u32,
                valid: solved.iter().flatten().count() as u32,
                solve_rate: mean_solve_rate(&solved).map(|rate| rate as f32),
                student_score: Some(student_score as f32),
                // The approximated normal distribution function can end slightly outside [0, 1].
                predicted: predicted.clamp(0.0, 1.0) as f32,
                winner,
            });
            decided.push((one.teacher, one.student, winner));
        }
        self.scene
            .draft
            .plan
            .records
            .ratings
            .extend(self.memory.ratings.records());
        decided
    }
}
