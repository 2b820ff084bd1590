//! A completion's place among the work of a run.

use crate::{
    advantage::Sampled,
    id::{AttemptId, ExecutionId, ProblemId, WorkId},
    kit::Sequence,
    work::{Completion, RolloutResult, WorkKey},
};

/// A completion, without its text: its place in the run, from which identifiers follow, and its length.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The rollout it was drawn in.
    pub source: WorkKey,
    /// The number of its request there.
    pub request: u32,
    /// Its index among the request's samples.
    pub index: u32,
    /// Its length in tokens.
    pub tokens: u32,
    /// Mean entropy of the model over it, in nats.
    pub entropy: Option<f32>,
}

impl Sample {
    /// A completion of a request in the rollout at `source`.
    pub fn of(source: &WorkKey, request: u32, index: u32, completion: &Completion) -> Self {
        Self {
            source: source.clone(),
            request,
            index,
            tokens: completion.tokens,
            entropy: completion.entropy,
        }
    }

    /// The identifier of the problem that it proposes.
    pub fn problem(&self, run: ExecutionId) -> ProblemId {
        ProblemId::of(WorkId::of(run, &self.source), &self.request.to_string(), self.index)
    }

    /// The identifier of the attempt that it makes.
    pub fn attempt(&self, run: ExecutionId) -> AttemptId {
        AttemptId::of(WorkId::of(run, &self.source), &self.request.to_string(), self.index)
    }

    /// What a member learns from it, in a batch in which samples of one `group` are compared.
    pub fn sequence(&self, reward: f32, group: u32) -> Sequence {
        Sequence {
            source: self.source.clone(),
            request: self.request,
            sample: self.index,
            sampled: Sampled {
                reward,
                group,
                tokens: self.tokens,
            },
        }
    }
}

/// Every completion with what was asked and its index among the samples of that request, in order. `asked` are the requests
/// of the rollout.
pub fn completions<'r, A>(
    asked: &'r [A],
    result: &'r RolloutResult,
) -> impl Iterator<Item = (&'r A, u32, &'r Completion)> {
    asked.iter().zip(&result.generated).flat_map(|(asked, generated)| {
        let completions = (0..).zip(&generated.completions);
        completions.map(move |(index, completion)| (asked, index, completion))
    })
}
