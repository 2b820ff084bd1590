//! Asks for updates.

use std::collections::HashMap;

use crate::advantage::Sampled;
use crate::artifact::Digest;
use crate::contract::{GeometryRecord, PlanError, VersionRecord};
use crate::id::{VersionId, WorkId};
use crate::kit::{Draft, ItemConfig, LearningConfig, Pause, Progress, join};
use crate::work::{
    AdapterRef, Loss, LossAggregation, MemberUpdate, MemberUpdated, Optimizer, Payload, Piece, SequenceRef,
    UpdatePayload, UpdateResult, WorkKey,
};

/// A sequence sampled by a member, and its reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The rollout it came from, which kept its tokens.
    pub source: WorkKey,
    /// The number of its request there.
    pub request: u32,
    /// Its index among the request's samples.
    pub sample: u32,
    /// Whether it was cut at the token limit.
    pub truncated: bool,
    /// Whether it has text before its answer.
    pub has_steps: bool,
    /// Its reward, group and length.
    pub sampled: Sampled,
}

/// A member and the sequences it learns from, with an advantage each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Learner {
    /// A position among the members.
    pub member: usize,
    /// What it learns from.
    pub sequences: Vec<Sequence>,
    /// The advantage of each sequence.
    pub advantages: Vec<f32>,
    /// The version that the member is kept close to; replaces the loss's reference.
    pub kl_reference: Option<AdapterRef>,
    /// How many sequences were left out because they were cut at the token limit.
    pub masked: usize,
}

impl Learner {
    /// Without the sequences that were cut at the token limit, if those are masked. Advantages stay as they are.
    fn without_truncated(mut self, learning: &LearningConfig) -> Self {
        if learning.mask_truncated {
            let all = self.sequences.len();
            let parts = self.sequences.into_iter().zip(self.advantages);
            let whole = parts.filter(|(sequence, _)| !sequence.truncated);
            (self.sequences, self.advantages) = whole.unzip();
            self.masked += all - self.sequences.len();
        }
        self
    }

    fn masked_share(&self) -> f64 {
        self.masked as f64 / (self.masked + self.sequences.len()).max(1) as f64
    }

    /// Without the sequences whose advantage is 0. They have no gradient, unless the loss has an entropy or a KL term. The
    /// others' advantages become smaller by as much as the batch does, so the mean over the batch, and with it the gradient,
    /// stays the same; diagnostics are those of the sequences that are left. A batch with no other sequences, and one that
    /// is learned in several minibatches, stays whole.
    pub fn without_idle(self, learning: &LearningConfig) -> Self {
        let mut whole = self.without_truncated(learning);
        let has_terms = learning.loss.entropy != 0.0 || learning.loss.kl != 0.0;
        let weight = |sequence: &Sequence| match learning.loss.aggregation {
            LossAggregation::TokenMean => f64::from(sequence.sampled.tokens),
            LossAggregation::SequenceMean | LossAggregation::Constant => 1.0,
        };
        let all: f64 = whole.sequences.iter().map(weight).sum();
        let parts = whole.sequences.iter().zip(&whole.advantages);
        let active: Vec<(&Sequence, f32)> = parts
            .map(|(sequence, advantage)| (sequence, *advantage))
            .filter(|(_, advantage)| *advantage != 0.0)
            .collect();
        if has_terms || learning.optimizer.minibatches > 1 || active.is_empty() {
            return whole;
        }
        let share = active.iter().map(|(sequence, _)| weight(sequence)).sum::<f64>() / all;
        let scaled = |advantage: f32| (f64::from(advantage) * share) as f32;
        (whole.sequences, whole.advantages) =
            active.into_iter().map(|(sequence, advantage)| (sequence.clone(), scaled(advantage))).unzip();
        whole
    }
}

/// How members learn, and how the work is divided into items.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// Loss and optimizer.
    pub learning: &'a LearningConfig,
    /// Members per item, and pieces per gradient.
    pub items: &'a ItemConfig,
}

impl<'a> Draft<'a> {
    /// Asks for the updates of `learners` and returns them once all are there. Members without a sequence do not learn.
    /// An item has members of one population, which share a base.
    pub fn update(&mut self, lesson: Lesson<'_>, learners: &[Learner]) -> Progress<Vec<&'a MemberUpdated>> {
        let masked = lesson.learning.mask_truncated.then(|| {
            let learners = learners.iter().cloned();
            let masked = learners.map(|learner| learner.without_truncated(lesson.learning));
            masked.collect::<Vec<Learner>>()
        });
        let learners = masked.as_deref().unwrap_or(learners);
        let mut by_population: Vec<(&str, Vec<&Learner>)> = Vec::new();
        for learner in learners.iter().filter(|learner| !learner.sequences.is_empty()) {
            let (name, _) = self.population(learner.member)?;
            match by_population.iter_mut().find(|(known, _)| *known == name) {
                Some((_, own)) => own.push(learner),
                None => by_population.push((name, vec![learner])),
            }
        }
        let size = lesson.items.update.max(1) as usize;
        let parts = by_population.iter().flat_map(|(_, learners)| learners.chunks(size));
        let updated = join((0..).zip(parts), |(chunk, part)| {
            let result = self.learn(lesson, chunk, part)?;
            if result.members.len() != part.len() {
                let detail = format!("{} members instead of {}", result.members.len(), part.len());
                return Err(Self::misfit(&self.key("update", chunk), detail).into());
            }
            Ok(&result.members)
        })?;
        Ok(updated.into_iter().flatten().collect())
    }

    /// Asks for the update of a chunk's members, or first for the pieces of its gradient.
    fn learn(&mut self, lesson: Lesson<'_>, chunk: u32, learners: &[&Learner]) -> Progress<&'a UpdateResult> {
        let key = self.key("update", chunk);
        if !self.is_asked(&key) {
            // A piece without a sequence would have no gradient.
            let longest = learners.iter().map(|learner| learner.sequences.len()).max();
            let pieces = u32::try_from(longest.unwrap_or(0)).unwrap_or(u32::MAX).min(lesson.items.gradient_pieces);
            let place = learners.first().map_or(0, |learner| learner.member);
            let mut payload = self.update_payload(lesson.learning, learners)?;
            if pieces > 1 {
                let first = chunk * lesson.items.gradient_pieces;
                let gradients = join(0..pieces, |index| {
                    self.gradient(first + index, Piece::Gradient { index, of: pieces }, &payload, place)
                })?;
                // The sequences are in the pieces.
                payload.members.iter_mut().for_each(|member| member.sequences.clear());
                payload.piece = Some(Piece::Apply { gradients });
            }
            let (_, population) = self.population(place)?;
            self.ask(key.clone(), Payload::Update(payload), Some(population));
        }
        self.view.update(&key)?.ok_or(Pause::Waiting)
    }

    /// Asks for one piece of the gradient of `update` and returns it.
    fn gradient(&mut self, chunk: u32, piece: Piece, update: &UpdatePayload, place: usize) -> Progress<Digest> {
        let key = self.key("gradient", chunk);
        if !self.is_asked(&key) {
            let payload = UpdatePayload { piece: Some(piece), measure: false, ..update.clone() };
            let (_, population) = self.population(place)?;
            self.ask(key.clone(), Payload::Update(payload), Some(population));
        }
        let result = self.view.update(&key)?.ok_or(Pause::Waiting)?;
        let missing = || Self::misfit(&key, "its result has no gradient");
        Ok(result.gradient.ok_or_else(missing)?)
    }

    fn update_payload(&self, learning: &LearningConfig, learners: &[&Learner]) -> Result<UpdatePayload, PlanError> {
        let (_, population) = self.population(learners.first().map_or(0, |learner| learner.member))?;
        let share = learning.rate_share(self.run.step, self.run.config.steps);
        Ok(UpdatePayload {
            base_model: population.base_model.clone(),
            compute: self.run.config.compute,
            members: self.member_updates(learners, share)?,
            loss: Loss::PolicyGradient(learning.loss.clone()),
            optimizer: Optimizer {
                learning_rate: learning.optimizer.learning_rate * share,
                ..learning.optimizer.clone()
            },
            micro_batch_tokens: learning.micro_batch_tokens,
            recompute: learning.recompute,
            piece: None,
            measure: self.measures_geometry(),
        })
    }

    /// Whether the geometry of members is measured in this step: where their benchmarks are due, and in the last one.
    fn measures_geometry(&self) -> bool {
        let (done, config) = (self.run.step + 1, &self.run.config);
        let benchmarks = config.benchmarks.as_ref();
        done >= config.steps || benchmarks.is_some_and(|schedule| schedule.is_due(done, config.steps))
    }

    fn member_updates(&self, learners: &[&Learner], rate_share: f64) -> Result<Vec<MemberUpdate>, PlanError> {
        let mut sources = HashMap::new();
        let mut updates = Vec::with_capacity(learners.len());
        for learner in learners {
            let Some(member) = self.members.get(learner.member) else { continue };
            let Some(from) = member.adapter else { continue };
            let mut sequences = Vec::with_capacity(learner.sequences.len());
            for (sequence, advantage) in learner.sequences.iter().zip(&learner.advantages) {
                let (rollout, tokens) = match sources.get(&sequence.source) {
                    Some(known) => *known,
                    None => {
                        let known = self.source(&sequence.source)?;
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
                kl_reference: learner.kl_reference,
                learning_rate: member.learning_rate.map(|rate| rate * rate_share),
                masked_share: learner.masked_share(),
                sequences,
            });
        }
        Ok(updates)
    }

    /// The rollout at `key` and its tokens.
    fn source(&self, key: &WorkKey) -> Result<(WorkId, Digest), PlanError> {
        let tokens = self.view.rollout(key)?.and_then(|result| result.tokens);
        let tokens = tokens.ok_or_else(|| Self::misfit(key, "its tokens should have been kept, but there are none"))?;
        Ok((WorkId::of(self.run.run, key), tokens))
    }

    /// Gives members their updated weights, and writes the versions.
    pub fn adopt(&mut self, updated: &[&MemberUpdated]) {
        for new in updated {
            let run = self.run.run;
            let Some(member) = self.members.iter_mut().find(|member| member.id(run) == new.member) else { continue };
            member.adapter = Some(new.version);
            member.ordinal += 1;
            self.plan.records.versions.push(VersionRecord {
                id: new.version.version,
                member: new.member,
                ordinal: member.ordinal,
                artifact: new.version.artifact,
                optimizer: new.version.optimizer,
                learning_rate: member.learning_rate,
            });
            let measured = new.geometry.clone();
            self.plan.records.geometry.extend(measured.map(|of| GeometryRecord {
                member: new.member,
                of: of.of,
                pairs: of.pairs,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learner(advantages: &[f32]) -> Learner {
        let sequence = |(request, _): (u32, &f32)| Sequence {
            source: WorkKey::new(0, "solve"),
            request,
            sample: 0,
            truncated: false,
            has_steps: false,
            sampled: Sampled { reward: 0.0, group: 0, tokens: 10 * (request + 1) },
        };
        Learner {
            sequences: (0..).zip(advantages).map(sequence).collect(),
            advantages: advantages.to_vec(),
            ..Learner::default()
        }
    }

    fn left(learner: &Learner, learning: &LearningConfig) -> (Vec<u32>, Vec<f32>) {
        let left = learner.clone().without_idle(learning);
        let requests = left.sequences.iter().map(|sequence| sequence.request);
        (requests.collect(), left.advantages)
    }

    #[test]
    fn sequences_without_an_advantage_are_left_out_and_the_others_keep_the_mean() {
        let whole = learner(&[0.0, 2.0, 0.0, -1.0]);
        let mut learning = LearningConfig::default();
        // 20 and 40 of 100 tokens; two of four sequences.
        assert_eq!(left(&whole, &learning), (vec![1, 3], vec![1.2, -0.6]));
        learning.loss.aggregation = LossAggregation::SequenceMean;
        assert_eq!(left(&whole, &learning), (vec![1, 3], vec![1.0, -0.5]));
    }

    #[test]
    fn truncated_sequences_are_left_out_only_if_they_are_masked() {
        let mut whole = learner(&[0.5, 2.0, 0.0, -1.0]);
        for place in [0, 3] {
            whole.sequences[place].truncated = true;
        }
        let mut learning = LearningConfig::default();
        let left = |learning: &LearningConfig| {
            let left = whole.clone().without_truncated(learning);
            (left.advantages.clone(), left.masked_share())
        };
        assert_eq!(left(&learning), (vec![0.5, 2.0, 0.0, -1.0], 0.0));
        learning.mask_truncated = true;
        assert_eq!(left(&learning), (vec![2.0, 0.0], 0.5));
        // Of the 50 tokens that are left, 20 have an advantage.
        let active = whole.clone().without_idle(&learning);
        assert_eq!((active.advantages, active.masked), (vec![0.8], 2));
    }

    #[test]
    fn a_batch_stays_whole_where_every_sequence_counts_or_none_does() {
        let whole = learner(&[0.0, 2.0]);
        let same = |change: fn(&mut LearningConfig)| {
            let mut learning = LearningConfig::default();
            change(&mut learning);
            assert_eq!(left(&whole, &learning), (vec![0, 1], vec![0.0, 2.0]));
        };
        same(|learning| learning.loss.kl = 0.01);
        same(|learning| learning.loss.entropy = 0.01);
        same(|learning| learning.optimizer.minibatches = 2);
        let idle = learner(&[0.0, 0.0]);
        assert_eq!(left(&idle, &LearningConfig::default()).0, [0, 1]);
    }
}
