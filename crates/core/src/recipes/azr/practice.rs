//! Practice problems, and the step's learner.

use rand::seq::SliceRandom as _;

use super::step::Step;
use crate::{
    advantage::task_relative_reinforce_plus_plus,
    contract::Role,
    id::ProblemId,
    kit::{
        Learner, Sequence,
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
        let draft = &self.scene.draft;
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let proposals = judged.iter().filter(|_| learns(Role::Proposer));
        let proposals = proposals.map(|(judged, reward)| ((Role::Proposer, judged.kind), &judged.sample, *reward));
        let attempts = practice.iter().filter(|_| learns(Role::Solver));
        let attempts = attempts.map(|attempt| ((Role::Solver, attempt.kind), &attempt.sample, attempt.reward));
        let batch = (0..).zip(proposals.chain(attempts));
        let (mut tasks, sequences): (Vec<_>, Vec<Sequence>) = batch
            .map(|(group, (task, sample, reward))| {
                let sequence = sample.sequence(reward, group);
                ((task, sequence.sampled), sequence)
            })
            .unzip();
        let name = draft.members.first().map_or("", |member| &member.name);
        self.parameters.learning.alter(&mut tasks, draft.run, name);
        Learner {
            advantages: task_relative_reinforce_plus_plus(&tasks, self.parameters.whitening),
            sequences,
            ..Learner::default()
        }
    }
}
