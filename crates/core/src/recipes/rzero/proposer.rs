//! The stage in which proposers learn: propose → vote → tally → reward → update. Solvers are frozen.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    metrics::Tally,
    poll::Polled,
    propose::{Call, Proposal},
    resolve::MOST_COMPARED,
    step::Step,
};
use crate::{
    contract::{CostClass, Phase, ProblemOutcomeRecord},
    kit::{Progress, Sequence, both, join},
    verify::{Task, Tolerance, Wordings},
    vocabulary_dropout::Purpose,
};

pub(super) const REPETITION: Phase = Phase::new("repetition", CostClass::Grade);

impl<'a> Step<'a> {
    pub(super) fn train_proposers(&mut self) -> Progress<Tally<'a>> {
        let stage = &self.parameters.proposer;
        let call = Call {
            purpose: Purpose::Train,
            prompts: stage.prompts * self.proposers.len() as u32,
            n: stage.n,
            sampling: &stage.sampling,
        };
        let polled = self.propose_and_poll(call);
        let repeated = self.proposals(call).and_then(|proposals| self.repeated(&proposals));
        let (polled, repeated) = both(polled, repeated)?;
        let rewards = self.reward(&polled, &repeated)?;
        let lessons = polled.iter().zip(rewards.iter()).map(|(polled, reward)| {
            let sequence = polled.sample.sequence(*reward, polled.sample.request);
            (polled.proposer, sequence)
        });
        let lessons: Vec<(usize, Sequence)> = lessons.collect();
        let updated = self.update(&stage.learning, &lessons)?;
        Ok(Tally {
            polled: polled.to_vec(),
            proposer_rewards: lessons.iter().map(|(_, of)| of.sampled.reward).collect(),
            repetition: if self.are_compared() {
                repeated.to_vec()
            } else {
                Vec::new()
            },
            updated,
            ..Tally::default()
        })
    }

    /// Every proposal of a call with the vote on it, in order.
    pub(super) fn propose_and_poll(&mut self, call: Call<'_>) -> Progress<Arc<Vec<Polled>>> {
        let view = self.draft.view;
        view.once("polled", || {
            let chunks = call.chunks(self.parameters.items.propose);
            let polled = join(chunks, |chunk| {
                let proposals = self.propose(call, chunk)?;
                self.poll(call, chunk.0, &proposals)
            })?;
            Ok(polled.into_iter().flatten().collect())
        })
    }

    /// The proposals of a call, by chunk.
    fn proposals(&mut self, call: Call<'_>) -> Progress<Vec<Arc<Vec<Proposal>>>> {
        let chunks = call.chunks(self.parameters.items.propose);
        join(chunks, |chunk| self.propose(call, chunk))
    }

    /// Whether wordings are compared: they are recorded without a penalty, too, unless there are too many.
    fn are_compared(&self) -> bool {
        let stage = &self.parameters.proposer;
        self.parameters.uncertainty.repetition.weight > 0.0 || stage.prompts.saturating_mul(stage.n) <= MOST_COMPARED
    }

    /// For each proposal the share of its proposer's proposals that repeat it, itself included; 0 if wordings are not
    /// compared. A proposal that could not be read repeats nothing.
    fn repeated(&mut self, proposals: &[Arc<Vec<Proposal>>]) -> Progress<Arc<Vec<f32>>> {
        let view = self.draft.view;
        let repetition = self.parameters.uncertainty.repetition;
        view.once("repeated", || {
            let proposals: Vec<&Proposal> = proposals.iter().flat_map(|chunk| chunk.iter()).collect();
            let mut shares = vec![0.0; proposals.len()];
            if !self.are_compared() {
                return Ok(shares);
            }
            let own = |proposer: usize| -> Vec<usize> {
                let own = proposals.iter().enumerate();
                let own = own.filter(|(_, proposal)| proposal.proposer == proposer);
                own.map(|(at, _)| at).collect()
            };
            let batches: Vec<Vec<usize>> = self.proposers.iter().map(|proposer| own(*proposer)).collect();
            let text = |at: &usize| {
                proposals[*at]
                    .question
                    .as_ref()
                    .map_or("", |question| &question.text)
                    .to_owned()
            };
            let task = |(number, batch): (u32, &Vec<usize>)| Task {
                id: number.to_string(),
                check: Wordings {
                    texts: batch.iter().map(text).collect(),
                    distance: Tolerance::new(repetition.distance).unwrap_or_default(),
                }
                .into(),
            };
            let key = self.draft.key(REPETITION, 0);
            let tasks = || (0..).zip(&batches).map(task).collect();
            let verdicts = self.draft.verify(&key, batches.len(), tasks)?;
            for (batch, verdict) in batches.iter().zip(verdicts) {
                let clusters = verdict.clusters.iter().flatten();
                let clusters: Vec<u32> = clusters.map(|cluster| cluster.unwrap_or_default()).collect();
                let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
                for cluster in &clusters {
                    *sizes.entry(*cluster).or_default() += 1;
                }
                for (at, cluster) in batch.iter().zip(&clusters) {
                    shares[*at] = sizes[cluster] as f32 / batch.len() as f32;
                }
            }
            Ok(shares)
        })
    }

    /// The rewards of the proposals, with a row for each outcome.
    fn reward(&mut self, polled: &[Polled], repeated: &[f32]) -> Progress<Arc<Vec<f32>>> {
        let view = self.draft.view;
        view.once("rewards", || {
            let uncertainty = self.parameters.uncertainty;
            let rewards = polled.iter().zip(repeated).map(|(polled, share)| {
                let reward = uncertainty.reward(polled.is_read, polled.vote, *share);
                let outcome = polled.outcome(reward.total, reward.parts);
                self.draft.plan.records.outcomes.push(outcome);
                reward.total
            });
            Ok(rewards.collect())
        })
    }
}

impl Polled {
    /// The row of its outcome. The solve rate is the share of answers that are right by the label.
    pub(super) fn outcome(&self, reward: f32, reward_parts: serde_json::Value) -> ProblemOutcomeRecord {
        let attempts = self.vote.map_or(0, |vote| vote.of);
        ProblemOutcomeRecord {
            problem: self.problem,
            solve_rate: self.vote.map(|vote| self.correct as f32 / vote.of as f32),
            attempts,
            reward,
            reward_parts,
        }
    }
}
