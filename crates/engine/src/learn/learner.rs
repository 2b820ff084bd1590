//! Forward and backward passes through the micro-batches.

use std::ops::Range;

use lyceum_core::work::OldPolicy;
use tch::{Device, Tensor};

use super::backbone::{AdaptedLayers, Backbone, rms_norm_backward};
use super::batch::MicroBatch;
use super::diagnostics::{Sums, TokenRecord};
use super::head::{HeadGradient, TokenWeights, backward_through_head};
use super::layout::{Layout, Token};
use super::loss::{Normaliser, TokenScores, by_entropy, token_loss};
use super::optimizer_state::TrainedTensor;
use super::piece::GradientPiece;
use super::rows::TrainingSequence;
use super::update::UpdateOptions;
use crate::error::Result;
use crate::model::Model;
use crate::population::{Factors, LayerFactors, Population};

/// Log-probabilities by member, sequence and position.
pub(super) type Logprobs = Vec<Vec<Vec<f32>>>;

/// The policy that the KL term is measured against.
pub(super) enum Reference {
    /// The policy being learned, before its first step; also used if the loss has no KL term.
    Itself,
    /// The base without adapters.
    Base,
    Population(Population),
}

/// A lane's handles on everything that learning reads.
pub(super) struct Learner<'a> {
    pub(super) model: Model,
    pub(super) population: Population,
    pub(super) reference: Reference,
    pub(super) options: &'a UpdateOptions,
    pub(super) sequences: &'a [Vec<TrainingSequence>],
    pub(super) old_policy: Option<OldPolicy>,
    /// The trainer's log-probabilities before the first step, if these serve as the old policy's.
    pub(super) old: Option<&'a Logprobs>,
    /// Whether no step has been made yet.
    pub(super) first: bool,
    /// Rows of logits held at a time.
    pub(super) chunk: i64,
}

impl Learner<'_> {
    /// The gradient of these micro-batches; `advance` is called with the number of sequences of each.
    pub(super) fn gradient(
        &self,
        batches: &[MicroBatch],
        normalisers: &[Normaliser],
        advance: &mut dyn FnMut(usize),
    ) -> Result<GradientPiece> {
        let mut gradient = GradientPiece::zero(&TrainedTensor::of_population(&self.population))?;
        let by_layer = by_layer(&self.population, &gradient.gradients);
        // If members come in turn, a member's micro-batches are consecutive.
        let mut layers: Option<AdaptedLayers<'_>> = None;
        for batch in batches {
            let layout = self.layout(batch)?;
            let layers = match layers.take().filter(|layers| layers.serve(&layout.members)) {
                Some(same) => layers.insert(same),
                None => layers.insert(self.layers(Some(&self.population), &layout, !self.options.recompute)?),
            };
            self.learn(layers, &layout, normalisers, &by_layer, &mut gradient.sums)?;
            advance(layout.packing.sequences() as usize);
        }
        Ok(gradient)
    }

    /// Log-probabilities of the micro-batches' learned tokens.
    pub(super) fn score(&self, batches: &[MicroBatch]) -> Result<Vec<(Token, f32)>> {
        let mut scores = Vec::new();
        for batch in batches {
            let layout = self.layout(batch)?;
            let logprobs = self.logprobs(Some(&self.population), &layout)?;
            scores.extend(layout.tokens.iter().copied().zip(logprobs));
        }
        Ok(scores)
    }

    fn layout(&self, batch: &MicroBatch) -> Result<Layout> {
        Layout::new(
            batch,
            self.sequences,
            self.population.members(),
            self.model.placement.device,
            self.options.padding_on(self.model.placement.device),
        )
    }

    fn layers(&self, population: Option<&Population>, layout: &Layout, keep: bool) -> Result<AdaptedLayers<'_>> {
        AdaptedLayers::new(&self.model, population, &layout.members, keep)
    }

    fn learn(
        &self,
        layers: &AdaptedLayers<'_>,
        layout: &Layout,
        normalisers: &[Normaliser],
        gradients: &[LayerFactors],
        sums: &mut [Sums],
    ) -> Result<()> {
        let Self { model, options, .. } = self;
        let references = match &self.reference {
            Reference::Itself => None,
            Reference::Base => Some(self.logprobs(None, layout)?),
            Reference::Population(population) => Some(self.logprobs(Some(population), layout)?),
        };
        let backbone = Backbone::new(model, layers, layout)?;
        let (hidden, kept) = backbone.forward_keeping(&layout.ids, options.recompute)?;
        let last = Tensor::f_embedding(&hidden, &layout.predicting, -1, false, false)?;
        let rows = hidden.size()[0];
        drop(hidden);
        let by_entropy = by_entropy(&options.loss);
        let mut weigh = |range: Range<usize>, logprobs: &[f32], entropies: &[f32]| {
            let mut weights = TokenWeights {
                by_logprob: Vec::with_capacity(range.len()),
                by_entropy: (by_entropy != 0.0).then(|| Vec::with_capacity(range.len())),
            };
            for (offset, at) in range.enumerate() {
                let Token { member, sequence, place } = layout.tokens[at];
                let example = &self.sequences[member][sequence];
                let logprob = f64::from(logprobs[offset]);
                let sampled = example.logprobs.get(place).map(|&logprob| f64::from(logprob));
                let trainers = self.old.map(|old| f64::from(old[member][sequence][place]));
                let old = match self.old_policy {
                    Some(OldPolicy::Trainer) => trainers,
                    _ => sampled,
                };
                // Before the first step, the trainer's log-probability is that of its own pass.
                let log_importance = sampled.map_or(0.0, |sampled| trainers.unwrap_or(logprob) - sampled);
                let reference = match &references {
                    Some(references) => Some(f64::from(references[at])),
                    None => options.loss.kl_reference().map(|_| logprob),
                };
                let loss = token_loss(
                    &options.loss,
                    TokenScores {
                        logprob,
                        old_logprob: old.unwrap_or(logprob),
                        log_importance,
                        reference_logprob: reference,
                        advantage: f64::from(example.advantage),
                    },
                );
                let weight = normalisers[member].weight(example.completion.len());
                weights.by_logprob.push((weight * loss.by_logprob) as f32);
                if let Some(weights) = &mut weights.by_entropy {
                    weights.push((weight * by_entropy) as f32);
                }
                let entropy = f64::from(entropies[offset]);
                let mismatch = sampled.filter(|_| self.first).map(|sampled| sampled - logprob);
                sums[member].add_token(TokenRecord { weight, loss, entropy, mismatch });
            }
            Ok(weights)
        };
        let normed = model.final_norm(&last)?;
        let frozen = HeadGradient { weight: None };
        let by_normed = backward_through_head(model, &normed, &layout.targets, self.chunk, &frozen, &mut weigh)?;
        drop(normed);
        let by_last = rms_norm_backward(&by_normed, &last, &model.norm, model.config.rms_norm_eps)?;
        drop((by_normed, last));
        let by_hidden = Tensor::f_embedding_dense_backward(&by_last, &layout.predicting, rows, -1, false)?;
        drop(by_last);
        backbone.backward(by_hidden, kept, gradients)
    }

    /// Log-probabilities of a micro-batch's learned tokens under the base or a population.
    fn logprobs(&self, population: Option<&Population>, layout: &Layout) -> Result<Vec<f32>> {
        let layers = self.layers(population, layout, false)?;
        let hidden = Backbone::new(&self.model, &layers, layout)?.forward(&layout.ids)?;
        let last = self.model.final_norm(&hidden.f_index_select(0, &layout.predicting)?)?;
        let logprobs = self.model.token_logprobs(&last, &layout.targets, self.chunk)?;
        Ok(Vec::try_from(&logprobs.f_to_device(Device::Cpu)?)?)
    }
}

/// Regroups flat gradients, in the order of [`TrainedTensor::of_population`], by layer.
fn by_layer(population: &Population, flat: &[Tensor]) -> Vec<LayerFactors> {
    let mut flat = flat.iter();
    let mut take = || flat.next().map(Tensor::shallow_clone);
    population
        .layers
        .iter()
        .map(|layer| {
            let mut gradients = LayerFactors::default();
            for (projection, _) in layer.iter() {
                if let (Some(a), Some(b)) = (take(), take()) {
                    gradients.insert(projection, Factors { a, b });
                }
            }
            gradients
        })
        .collect()
}
