//! Practice problems, and the step's learner.

use rand::seq::SliceRandom as _;

use super::step::Step;
use crate::{
    advantage::{Sampled, task_relative_reinforce_plus_plus},
    id::ProblemId,
    recipe::{
        Learner, Role, Sequence,
        code::{Attempt, Judged},
    },
    seed::stream,
    verify::ProblemKind,
};

impl Step<'_> {
    /// The practice problems of all types.
    pub(super) fn practised(&self) -> Vec<ProblemId> {
        let types = self.parameters.problems.types.iter();
        types.flat_map(|kind| self.practised_of(*kind)).collect()
    }

    /// Problems of the last steps (`max_new` in the released code), chosen at random if there are too many; the rest of
    /// the batch comes from the whole buffer. A young buffer may have fewer than a batch.
    fn practised_of(&self, kind: ProblemKind) -> Vec<ProblemId> {
        let batch = self.parameters.batch as usize;
        let run = self.scene.draft.run;
        let path = format!("{}/practice/{}", run.step, kind.name());
        let mut random = stream(run.config.seed, &path, 0);
        let pool = &self.memory.experience.pool;
        let mut chosen = pool.since(kind, run.step.saturating_sub(self.parameters.recent_steps));
        chosen.shuffle(&mut random);
        chosen.truncate(batch);
        let older = pool.draw(&[kind], batch, &mut random);
        let fill: Vec<ProblemId> = older.into_iter().filter(|id| !chosen.contains(id)).collect();
        chosen.extend(fill);
        chosen.truncate(batch);
        chosen
    }

    /// The step's one batch: proposals and practice of all types, whitened by role and type (TRR++, Eq. 8).
    pub(super) fn learner(&self, judged: &[(Judged, f32)], practice: &[Attempt]) -> Learner {
        let scale = self.parameters.learning.reward_scale;
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let proposals = judged.iter().filter(|_| learns(Role::Proposer));
        let proposals = proposals.map(|(judged, reward)| {
            let sequence = (&judged.source, judged.request, judged.sample, *reward, judged.tokens);
            ((Role::Proposer, judged.kind), sequence)
        });
        let attempts = practice.iter().filter(|_| learns(Role::Solver)).map(|attempt| {
            let sequence = (
                &attempt.source,
                attempt.request,
                attempt.sample,
                attempt.reward,
                attempt.tokens,
            );
            ((Role::Solver, attempt.kind), sequence)
        });
        let (tasks, sequences): (Vec<_>, Vec<_>) = proposals
            .chain(attempts)
            .zip(0..)
            .map(|((task, (source, request, sample, reward, tokens)), group)| {
                let sampled = Sampled {
                    reward: reward * scale,
                    group,
                    tokens,
                };
                let sequence = Sequence {
                    source: source.clone(),
                    request,
                    sample,
                    sampled,
                };
                ((task, sampled), sequence)
            })
            .unzip();
        Learner {
            advantages: task_relative_reinforce_plus_plus(&tasks, self.parameters.whitening),
            sequences,
            ..Learner::default()
        }
    }
}
