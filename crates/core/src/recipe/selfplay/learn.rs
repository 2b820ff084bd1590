//! Asking for updates.

use std::collections::HashMap;

use super::Scene;
use crate::{
    advantage::Sampled,
    artifact::Digest,
    id::{VersionId, WorkId},
    recipe::{PlanError, VersionRecord},
    work::{MemberUpdate, MemberUpdated, Payload, Piece, SequenceRef, UpdatePayload, UpdateResult, WorkKey},
};

/// The phase of pieces of gradients, where updates are cut.
pub(super) const GRADIENT: &str = "gradient";

/// A sequence that a member sampled, and what it got for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sequence {
    pub(crate) source: WorkKey,
    pub(crate) request: u32,
    pub(crate) sample: u32,
    pub(crate) sampled: Sampled,
}

/// A member and the sequences that it learns from, with an advantage each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Learner {
    /// A place among the members.
    pub(crate) member: usize,
    pub(crate) sequences: Vec<Sequence>,
    pub(crate) advantages: Vec<f32>,
}

impl<'a> Scene<'a> {
    /// The updates of `learners` in their order, once all are there; asks for them. Members without a sequence learn nothing.
    pub(crate) fn update(&mut self, learners: &[Learner]) -> Result<Option<Vec<&'a MemberUpdated>>, PlanError> {
        let learners: Vec<&Learner> = learners
            .iter()
            .filter(|learner| !learner.sequences.is_empty())
            .collect();
        let mut updated = Vec::with_capacity(learners.len());
        let mut is_complete = true;
        for (chunk, part) in (0..).zip(learners.chunks(self.groups.items.update as usize)) {
            match self.learn(chunk, part)? {
                Some(result) if result.members.len() == part.len() => updated.extend(&result.members),
                Some(result) => {
                    let detail = format!("{} members where {} were to learn", result.members.len(), part.len());
                    return Err(Self::misfit(&self.key("update", chunk), detail));
                }
                None => is_complete = false,
            }
        }
        Ok(is_complete.then_some(updated))
    }

    /// The update of a chunk's members, once it is there; asks for it, or first for the pieces of its gradient.
    fn learn(&mut self, chunk: u32, learners: &[&Learner]) -> Result<Option<&'a UpdateResult>, PlanError> {
        let key = self.key("update", chunk);
        if self.asked(&key) {
            return self.view.update(&key);
        }
        // A piece without a sequence would be a gradient of nothing.
        let longest = learners
            .iter()
            .map(|learner| learner.sequences.len())
            .max()
            .unwrap_or(0);
        let pieces = u32::try_from(longest)
            .unwrap_or(u32::MAX)
            .min(self.groups.items.gradient_pieces);
        let mut payload = self.update_payload(learners)?;
        if pieces > 1 {
            let Some(gradients) = self.gradients(chunk, pieces, &payload)? else {
                return Ok(None);
            };
            // What they learn from is in the pieces.
            payload.members.iter_mut().for_each(|member| member.sequences.clear());
            payload.piece = Some(Piece::Apply { gradients });
        }
        self.ask(key, Payload::Update(payload));
        Ok(None)
    }

    /// The pieces of the gradient of `update` by index, once all are there; asks for them.
    fn gradients(&mut self, chunk: u32, of: u32, update: &UpdatePayload) -> Result<Option<Vec<Digest>>, PlanError> {
        let mut gradients = Vec::with_capacity(of as usize);
        for index in 0..of {
            let key = self.key(GRADIENT, chunk * self.groups.items.gradient_pieces + index);
            if !self.asked(&key) {
                let piece = Some(Piece::Gradient { index, of });
                self.ask(
                    key.clone(),
                    Payload::Update(UpdatePayload {
                        piece,
                        ..update.clone()
                    }),
                );
            }
            if let Some(result) = self.view.update(&key)? {
                let gradient = result.gradient;
                gradients.push(gradient.ok_or_else(|| Self::misfit(&key, "there is no gradient in its result"))?);
            }
        }
        Ok((gradients.len() == of as usize).then_some(gradients))
    }

    fn update_payload(&self, learners: &[&Learner]) -> Result<UpdatePayload, PlanError> {
        let learning = self.groups.learning;
        Ok(UpdatePayload {
            base_model: self.population.base_model.clone(),
            compute: self.run.config.compute,
            members: self.member_updates(learners)?,
            loss: learning.loss.clone(),
            optimizer: learning.optimizer.clone(),
            micro_batch_tokens: learning.micro_batch_tokens,
            recompute: learning.recompute,
            piece: None,
        })
    }

    /// Gives members the weights that they learned, and writes the versions.
    pub(crate) fn adopt(&mut self, updated: &[&MemberUpdated]) {
        for new in updated {
            let run = self.run.run;
            let Some(member) = self.members.iter_mut().find(|member| member.id(run) == new.member) else {
                continue;
            };
            member.adapter = Some(new.version);
            member.ordinal += 1;
            self.plan.records.versions.push(VersionRecord {
                id: new.version.version,
                member: new.member,
                ordinal: member.ordinal,
                artifact: new.version.artifact,
                optimizer: new.version.optimizer,
            });
        }
    }

    fn member_updates(&self, learners: &[&Learner]) -> Result<Vec<MemberUpdate>, PlanError> {
        let mut sources = HashMap::new();
        let mut updates = Vec::with_capacity(learners.len());
        for learner in learners {
            let Some(member) = self.members.get(learner.member) else {
                continue;
            };
            let Some(from) = member.adapter else { continue };
            let mut sequences = Vec::with_capacity(learner.sequences.len());
            for (sequence, advantage) in learner.sequences.iter().zip(&learner.advantages) {
                let (rollout, tokens) = match sources.get(&sequence.source) {
                    Some(known) => *known,
                    None => {
                        let tokens = self.view.rollout(&sequence.source)?.and_then(|result| result.tokens);
                        let tokens = tokens.ok_or_else(|| {
                            Self::misfit(&sequence.source, "its tokens were to be kept, and there are none")
                        })?;
                        let known = (WorkId::of(self.run.run, &sequence.source), tokens);
                        sources.insert(&sequence.source, known);
                        known
                    }
                };
                sequences.push(SequenceRef {
                    rollout,
                    tokens,
                    request: sequence.request.to_string(),
                    sample: sequence.sample,
                    advantage: *advantage,
                });
            }
            let id = member.id(self.run.run);
            updates.push(MemberUpdate {
                member: id,
                from,
                to: VersionId::of(id, member.ordinal + 1),
                kl_reference: None,
                sequences,
            });
        }
        Ok(updates)
    }
}
