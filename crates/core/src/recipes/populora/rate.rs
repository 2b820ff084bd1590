//! Winners and the ratings that follow (PopuLoRA, appendix 6).

use super::{pair::Match, step::Step};
use crate::{
    contract::{MatchupRecord, Winner},
    id::MatchupId,
    kit::code::Judged,
    rating::Scores,
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
            let [teacher, student] =
                [one.teacher, one.student].map(|place| self.scene.draft.members[place].id(run.run));
            let scores = Scores::of(&solved);
            let decision = self.memory.ratings.decide(
                self.parameters.matchup_score,
                [teacher, student],
                &scores,
                &self.parameters.rating,
            );
            self.scene.draft.plan.records.matchups.push(MatchupRecord {
                id: MatchupId::of(run.run, run.step, teacher, student),
                teacher,
                student,
                proposed: proposals.len() as u32,
                valid: solved.iter().flatten().count() as u32,
                solve_rate: scores.solve_rate.map(|rate| rate as f32),
                student_score: Some(decision.student_score as f32),
                teacher_reward: Some(scores.teacher_reward as f32),
                // The approximated normal distribution function can end slightly outside [0, 1].
                predicted: decision.predicted.clamp(0.0, 1.0) as f32,
                winner: decision.winner,
            });
            decided.push((one.teacher, one.student, decision.winner));
        }
        self.scene
            .draft
            .plan
            .records
            .ratings
            .extend(self.memory.ratings.ratings.records());
        decided
    }
}
