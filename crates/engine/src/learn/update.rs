//! One update: epochs of minibatches of micro-batches, for all members at once.

use std::ops::Range;

use lyceum_core::work::{LossAggregation, MemberDiagnostics, OldPolicy, Optimizer, PolicyLoss};
use tch::{Device, Kind, Tensor};

use super::adamw::AdamW;
use super::backbone::Backbone;
use super::batch::{MicroBatch, deal, part};
use super::clip::{check_values, clip_gradients};
use super::diagnostics::{Sums, TokenRecord};
use super::head::{HeadGradient, TokenWeights, backward_through_head};
use super::layout::{Layout, Token};
use super::loss::{Loss, TokenScores};
use super::norm::rms_norm_backward;
use super::optimizer_state::OptimizerState;
use super::piece::GradientPiece;
use super::sequence::TrainingSequence;
use super::trained::TrainedTensor;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::{Factors, LayerFactors, Population};

/// How to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOptions {
    /// What is minimised.
    pub loss: Loss,
    /// AdamW, epochs and minibatches.
    pub optimizer: Optimizer,
    /// Tokens of one micro-batch at the most; a longer sequence is a micro-batch of its own.
    pub micro_batch_tokens: usize,
    /// Compute each layer's activations a second time for its backward pass, so that one layer's are held in place of all.
    pub recompute: bool,
    /// Compute the prompt of neighbouring samples once.
    pub share_prompts: bool,
    /// Logits that are held at a time; at least one row of the vocabulary is.
    pub logits: usize,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self {
            loss: Loss::PolicyGradient(PolicyLoss::default()),
            optimizer: Optimizer::default(),
            micro_batch_tokens: 4096,
            recompute: true,
            share_prompts: true,
            logits: 1 << 24,
        }
    }
}

/// What the policy is held near to.
#[derive(Debug, Clone, Copy)]
pub enum KlReference<'a> {
    /// The base without adapters.
    Base,
    /// The population that the update starts from.
    Start,
    /// Any versions, stacked in the order of the members.
    Versions(&'a Population),
}

/// An update of a population over its base.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// The base.
    pub model: &'a Model,
    /// How to learn.
    pub options: &'a UpdateOptions,
    /// What the KL term is measured to.
    pub reference: KlReference<'a>,
}

/// How far an update has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Sequences learned from, over all epochs.
    pub done: usize,
    /// Sequences to learn from, over all epochs.
    pub total: usize,
}

/// What an update made. The population it started from is as it was.
#[derive(Debug)]
pub struct Updated {
    /// The new weights.
    pub population: Population,
    /// The new optimizer state.
    pub state: OptimizerState,
    /// How it went, by member.
    pub diagnostics: Vec<MemberDiagnostics>,
    /// How often a micro-batch was halved because memory ran out; not 0 means that the last bits depend on the machine.
    pub halvings: u32,
}

impl Update<'_> {
    /// Learns from each member's sequences, `sequences[member]`. Members without sequences stay as they are. Any error leaves
    /// `population` and `state` as they were.
    ///
    /// The result is a function of the arguments and the number of threads; a member's is not changed by the others' (but for
    /// rounding, if their sequences' lengths change how many rows a product has).
    pub fn run(
        &self,
        population: &Population,
        state: &OptimizerState,
        sequences: &[Vec<TrainingSequence>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Updated> {
        let _no_grad = tch::no_grad_guard();
        self.check(population, sequences)?;
        let Optimizer {
            epochs, minibatches, ..
        } = self.options.optimizer;
        let new = population.duplicate()?;
        let mut state = state.duplicate()?;
        let trained = TrainedTensor::of_population(&new);
        check_values(&trained, &(0..new.members()).collect::<Vec<_>>())?;
        let mut pass = Pass {
            update: self,
            start: population,
            sequences,
            old: None,
            budget: self.options.micro_batch_tokens,
            progress: Counter::new(sequences, epochs, progress),
        };
        let one_step = epochs == 1 && minibatches == 1;
        if !one_step && self.old_policy() == Some(OldPolicy::Trainer) {
            pass.old = Some(pass.score_all(&new)?);
        }
        let mut sums = vec![Sums::default(); new.members()];
        let mut norms = vec![Vec::new(); new.members()];
        let mut halvings = 0;
        for step in 0..epochs * minibatches {
            let work: Vec<_> = (0..new.members())
                .map(|member| {
                    let minibatch = (step % minibatches) as usize;
                    (member, part(sequences[member].len(), minibatch, minibatches as usize))
                })
                .filter(|(_, range)| !range.is_empty())
                .collect();
            let gradient = pass.gradient(&new, &trained, &work, &work, step == 0)?;
            let members: Vec<usize> = work.iter().map(|(member, _)| *member).collect();
            self.step(&trained, &gradient, &members, &mut state, &mut norms)?;
            for (sum, of_step) in sums.iter_mut().zip(&gradient.sums) {
                sum.add(*of_step);
            }
            halvings += gradient.halvings;
        }
        check_values(&trained, &(0..new.members()).collect::<Vec<_>>())?;
        Ok(Updated {
            population: new,
            state,
            diagnostics: diagnostics(&sums, &norms, epochs),
            halvings,
        })
    }

    /// The gradient of the `index`th of `of` even parts of each member's sequences, for [`Update::apply`]. Only an update of a
    /// single optimizer step can be cut.
    pub fn gradient_piece(
        &self,
        population: &Population,
        sequences: &[Vec<TrainingSequence>],
        index: usize,
        of: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<GradientPiece> {
        let _no_grad = tch::no_grad_guard();
        self.check(population, sequences)?;
        self.check_one_step()?;
        if index >= of {
            return Err(EngineError::population(format!(
                "piece {index} of {of}: indices begin at 0"
            )));
        }
        let trained = TrainedTensor::of_population(population);
        check_values(&trained, &(0..population.members()).collect::<Vec<_>>())?;
        let whole: Vec<_> = (0..population.members())
            .map(|member| (member, 0..sequences[member].len()))
            .collect();
        let cut = whole
            .iter()
            .map(|(member, range)| (*member, part(range.len(), index, of)));
        let work: Vec<_> = cut.filter(|(_, range)| !range.is_empty()).collect();
        let mut pass = Pass {
            update: self,
            start: population,
            sequences,
            old: None,
            budget: self.options.micro_batch_tokens,
            progress: Counter::new(sequences, 1, progress),
        };
        pass.gradient(population, &trained, &work, &whole, true)
    }

    /// Sums the pieces in the order given and makes the optimizer step.
    pub fn apply(&self, population: &Population, state: &OptimizerState, pieces: &[GradientPiece]) -> Result<Updated> {
        let _no_grad = tch::no_grad_guard();
        self.check_one_step()?;
        let new = population.duplicate()?;
        let mut state = state.duplicate()?;
        let trained = TrainedTensor::of_population(&new);
        let mut gradient = GradientPiece::zero(&trained)?;
        for piece in pieces {
            gradient.add(piece)?;
        }
        let members: Vec<usize> = (0..new.members())
            .filter(|&member| gradient.sums[member].tokens > 0.0)
            .collect();
        let mut norms = vec![Vec::new(); new.members()];
        self.step(&trained, &gradient, &members, &mut state, &mut norms)?;
        check_values(&trained, &members)?;
        let diagnostics = diagnostics(&gradient.sums, &norms, 1);
        Ok(Updated {
            population: new,
            state,
            diagnostics,
            halvings: gradient.halvings,
        })
    }

    fn step(
        &self,
        trained: &[TrainedTensor],
        gradient: &GradientPiece,
        members: &[usize],
        state: &mut OptimizerState,
        norms: &mut [Vec<f64>],
    ) -> Result<()> {
        let optimizer = &self.options.optimizer;
        let of_step = clip_gradients(trained, &gradient.gradients, members, optimizer.max_grad_norm)?;
        for &member in members {
            norms[member].push(of_step[member]);
        }
        AdamW::from(optimizer).step(trained, &gradient.gradients, members, state)
    }

    fn old_policy(&self) -> Option<OldPolicy> {
        match &self.options.loss {
            Loss::PolicyGradient(loss) => Some(loss.old_policy),
            Loss::CrossEntropy => None,
        }
    }

    fn check_one_step(&self) -> Result<()> {
        let Optimizer {
            epochs, minibatches, ..
        } = self.options.optimizer;
        if epochs != 1 || minibatches != 1 {
            return Err(EngineError::population(format!(
                "`epochs` is {epochs} and `minibatches` {minibatches}; an update that is cut into pieces makes one step, so \
                 both have to be 1"
            )));
        }
        Ok(())
    }

    fn check(&self, population: &Population, sequences: &[Vec<TrainingSequence>]) -> Result<()> {
        let Optimizer {
            epochs, minibatches, ..
        } = self.options.optimizer;
        if epochs == 0 || minibatches == 0 || self.options.micro_batch_tokens == 0 {
            return Err(EngineError::population(format!(
                "`epochs` is {epochs}, `minibatches` {minibatches} and `micro_batch_tokens` {}; each has to be at least 1",
                self.options.micro_batch_tokens
            )));
        }
        if sequences.len() != population.members() {
            return Err(EngineError::population(format!(
                "sequences for {} members were given; there are {}",
                sequences.len(),
                population.members()
            )));
        }
        if sequences.iter().all(Vec::is_empty) {
            return Err(EngineError::population("there are no sequences to learn from"));
        }
        if let Some((_, _, factors)) = population
            .tensors()
            .find(|(_, _, factors)| factors.a.kind() != Kind::Float)
        {
            let kind = factors.a.kind();
            return Err(EngineError::population(format!(
                "the adapters are {kind:?}; learning keeps them in fp32"
            )));
        }
        if let KlReference::Versions(reference) = self.reference
            && reference.members() != population.members()
        {
            return Err(EngineError::population(format!(
                "the KL reference has {} members; the population has {}",
                reference.members(),
                population.members()
            )));
        }
        let needs_logprobs = self.options.loss.needs_logprobs();
        for (member, list) in sequences.iter().enumerate() {
            for sequence in list {
                sequence.check(self.model, member, needs_logprobs)?;
            }
        }
        Ok(())
    }
}

fn diagnostics(sums: &[Sums], norms: &[Vec<f64>], epochs: u32) -> Vec<MemberDiagnostics> {
    sums.iter()
        .zip(norms)
        .map(|(sums, norms)| sums.diagnostics(norms, epochs))
        .collect()
}

/// Sequences and ranges of them by member.
type Work = [(usize, Range<usize>)];
/// Log-probabilities by member, sequence and place.
type Logprobs = Vec<Vec<Vec<f32>>>;

/// What stays the same over the steps of an update.
struct Pass<'a> {
    update: &'a Update<'a>,
    start: &'a Population,
    sequences: &'a [Vec<TrainingSequence>],
    /// The trainer's log-probabilities before the first step, where they are the old policy's.
    old: Option<Logprobs>,
    /// Tokens of one micro-batch; halved when memory runs out.
    budget: usize,
    progress: Counter<'a>,
}

impl Pass<'_> {
    /// The gradient of the sequences in `work`, normalised over those in `minibatch`. `first` if no step was made before.
    fn gradient(
        &mut self,
        population: &Population,
        trained: &[TrainedTensor],
        work: &Work,
        minibatch: &Work,
        first: bool,
    ) -> Result<GradientPiece> {
        let mut halvings = 0;
        loop {
            let batches = deal(work, self.sequences, self.budget, self.update.options.share_prompts);
            let before = self.progress.done;
            match self.try_gradient(population, trained, &batches, minibatch, first) {
                Ok(gradient) => return Ok(GradientPiece { halvings, ..gradient }),
                Err(error) if error.is_out_of_memory() => {
                    self.budget = smaller(self.update.model.placement.device, self.budget, &batches, &error)?;
                    self.progress.done = before;
                    halvings += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn try_gradient(
        &mut self,
        population: &Population,
        trained: &[TrainedTensor],
        batches: &[MicroBatch],
        minibatch: &Work,
        first: bool,
    ) -> Result<GradientPiece> {
        let mut gradient = GradientPiece::zero(trained)?;
        let sums = by_layer(population, &gradient.gradients);
        let normalisers = self.normalisers(minibatch);
        for batch in batches {
            let layout = Layout::new(
                batch,
                self.sequences,
                population.members(),
                self.update.model.placement.device,
            )?;
            self.learn(population, &layout, &normalisers, first, &sums, &mut gradient.sums)?;
            self.progress.advance(layout.packing.sequences as usize);
        }
        Ok(gradient)
    }

    /// Forward and backward through one micro-batch.
    fn learn(
        &self,
        population: &Population,
        layout: &Layout,
        normalisers: &[Normaliser],
        first: bool,
        gradients: &[LayerFactors],
        sums: &mut [Sums],
    ) -> Result<()> {
        let Update {
            model,
            options,
            reference,
        } = *self.update;
        let one_step = options.optimizer.epochs == 1 && options.optimizer.minibatches == 1;
        let references = match reference {
            _ if !options.loss.needs_reference() => None,
            KlReference::Base => Some(self.score(None, layout)?),
            KlReference::Start if first && one_step => None,
            KlReference::Start => Some(self.score(Some(self.start), layout)?),
            KlReference::Versions(versions) => Some(self.score(Some(versions), layout)?),
        };
        let backbone = Backbone::new(model, Some(population), layout)?;
        let (hidden, kept) = backbone.forward_keeping(&layout.ids, options.recompute)?;
        let last = Tensor::f_embedding(&hidden, &layout.predicting, -1, false, false)?;
        let rows = hidden.size()[0];
        drop(hidden);
        let by_entropy = options.loss.by_entropy();
        let chunk = self.chunk();
        let mut weigh = |range: Range<usize>, logprobs: &[f32], entropies: &[f32]| {
            let mut weights = TokenWeights {
                by_logprob: Vec::with_capacity(range.len()),
                by_entropy: (by_entropy != 0.0).then(|| Vec::with_capacity(range.len())),
            };
            for (offset, at) in range.enumerate() {
                let Token {
                    member,
                    sequence,
                    place,
                } = layout.tokens[at];
                let example = &self.sequences[member][sequence];
                let logprob = f64::from(logprobs[offset]);
                let sampled = example.logprobs.get(place).map(|&logprob| f64::from(logprob));
                let trainers = self.old.as_ref().map(|old| f64::from(old[member][sequence][place]));
                let old = match self.update.old_policy() {
                    Some(OldPolicy::Trainer) => trainers,
                    _ => sampled,
                };
                let reference = match &references {
                    Some(references) => Some(f64::from(references[at])),
                    None => options.loss.needs_reference().then_some(logprob),
                };
                let loss = options.loss.token(TokenScores {
                    logprob,
                    old_logprob: old.unwrap_or(logprob),
                    reference_logprob: reference,
                    advantage: f64::from(example.advantage),
                });
                let weight = normalisers[member].weight(example.completion.len());
                weights.by_logprob.push((weight * loss.by_logprob) as f32);
                if let Some(weights) = &mut weights.by_entropy {
                    weights.push((weight * by_entropy) as f32);
                }
                let entropy = f64::from(entropies[offset]);
                let mismatch = sampled.filter(|_| first).map(|sampled| sampled - logprob);
                sums[member].add_token(TokenRecord {
                    weight,
                    loss,
                    entropy,
                    mismatch,
                });
            }
            Ok(weights)
        };
        let normed = model.final_norm(&last)?;
        let frozen = HeadGradient { weight: None };
        let by_normed = backward_through_head(model, &normed, &layout.targets, chunk, &frozen, &mut weigh)?;
        drop(normed);
        let by_last = rms_norm_backward(&by_normed, &last, &model.norm, model.config.rms_norm_eps)?;
        drop((by_normed, last));
        let by_hidden = Tensor::f_embedding_dense_backward(&by_last, &layout.predicting, rows, -1, false)?;
        drop(by_last);
        backbone.backward(by_hidden, kept, gradients)
    }

    /// Log-probabilities of a micro-batch's learned tokens under the base or a population.
    fn score(&self, population: Option<&Population>, layout: &Layout) -> Result<Vec<f32>> {
        let model = self.update.model;
        let hidden = Backbone::new(model, population, layout)?.forward(&layout.ids)?;
        let last = model.final_norm(&hidden.f_index_select(0, &layout.predicting)?)?;
        let logprobs = model.token_logprobs(&last, &layout.targets, self.chunk())?;
        Ok(Vec::try_from(&logprobs.f_to_device(Device::Cpu)?)?)
    }

    /// Log-probabilities of all sequences.
    fn score_all(&mut self, population: &Population) -> Result<Logprobs> {
        let work: Vec<_> = self
            .sequences
            .iter()
            .enumerate()
            .map(|(member, list)| (member, 0..list.len()))
            .collect();
        let mut scores: Logprobs = self
            .sequences
            .iter()
            .map(|list| {
                list.iter()
                    .map(|sequence| vec![0.0; sequence.completion.len()])
                    .collect()
            })
            .collect();
        let device = self.update.model.placement.device;
        loop {
            let batches = deal(&work, self.sequences, self.budget, self.update.options.share_prompts);
            let scored = batches.iter().try_for_each(|batch| {
                let layout = Layout::new(batch, self.sequences, population.members(), device)?;
                for (
                    &Token {
                        member,
                        sequence,
                        place,
                    },
                    logprob,
                ) in layout.tokens.iter().zip(self.score(Some(population), &layout)?)
                {
                    scores[member][sequence][place] = logprob;
                }
                Ok(())
            });
            match scored {
                Ok(()) => return Ok(scores),
                Err(error) if EngineError::is_out_of_memory(&error) => {
                    self.budget = smaller(device, self.budget, &batches, &error)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn chunk(&self) -> i64 {
        (self.update.options.logits as i64 / self.update.model.config.vocab_size).max(1)
    }

    fn normalisers(&self, minibatch: &Work) -> Vec<Normaliser> {
        let aggregation = match &self.update.options.loss {
            Loss::PolicyGradient(loss) => loss.aggregation,
            Loss::CrossEntropy => LossAggregation::TokenMean,
        };
        let mut normalisers = vec![Normaliser::Tokens(0); self.sequences.len()];
        for (member, range) in minibatch {
            let sequences = &self.sequences[*member][range.clone()];
            normalisers[*member] = match aggregation {
                LossAggregation::TokenMean => {
                    Normaliser::Tokens(sequences.iter().map(|sequence| sequence.completion.len()).sum())
                }
                LossAggregation::SequenceMean => Normaliser::Sequences(sequences.len()),
            };
        }
        normalisers
    }
}

/// How a member's tokens are averaged over a minibatch.
#[derive(Debug, Clone, Copy)]
enum Normaliser {
    /// Over so many tokens.
    Tokens(usize),
    /// Over so many sequences of each one's mean.
    Sequences(usize),
}

impl Normaliser {
    /// The weight of each token of a completion of `length` tokens.
    fn weight(self, length: usize) -> f64 {
        1.0 / match self {
            Self::Tokens(tokens) => tokens as f64,
            Self::Sequences(sequences) => (sequences * length) as f64,
        }
    }
}

/// Half the rows of the largest micro-batch; an error if no micro-batch can be cut.
fn smaller(device: Device, budget: usize, batches: &[MicroBatch], error: &EngineError) -> Result<usize> {
    let rows = |batch: &MicroBatch| batch.lanes.iter().map(|lane| lane.rows).sum::<usize>();
    let cut = batches.iter().filter(|batch| batch.sequences() > 1).map(rows).max();
    match cut {
        Some(rows) => Ok((rows.min(budget) / 2).max(1)),
        None => Err(EngineError::OutOfMemory {
            device: format!("{device:?}"),
            detail: format!(
                "even one sequence at a time ({} tokens the longest): {error}",
                batches.iter().map(rows).max().unwrap_or(0)
            ),
        }),
    }
}

/// Flat gradients in the order of [`TrainedTensor::of_population`], as the layers know them.
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

struct Counter<'a> {
    done: usize,
    total: usize,
    report: &'a mut dyn FnMut(Progress),
}

impl<'a> Counter<'a> {
    fn new(sequences: &[Vec<TrainingSequence>], epochs: u32, report: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            done: 0,
            total: sequences.iter().map(Vec::len).sum::<usize>() * epochs as usize,
            report,
        }
    }

    fn advance(&mut self, sequences: usize) {
        self.done += sequences;
        (self.report)(Progress {
            done: self.done,
            total: self.total,
        });
    }
}
