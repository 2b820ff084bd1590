//! One update: epochs of minibatches of micro-batches, for all members at once.

use lyceum_core::work::{KlReference, Loss, MemberDiagnostics, OldPolicy, Optimizer, PolicyLoss};
use tch::{Device, Kind};

use super::adamw::{AdamW, check_values, clip_gradients};
use super::batch::part;
use super::diagnostics::Sums;
use super::optimizer_state::{OptimizerState, TrainedTensor};
use super::padding::Padding;
use super::pass::Pass;
use super::piece::{GradientPiece, PieceIndex};
use super::rows::TrainingSequence;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::Population;
use crate::unwinding::as_errors;

/// How to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOptions {
    /// The loss to minimise.
    pub loss: Loss,
    /// AdamW, epochs and minibatches.
    pub optimizer: Optimizer,
    /// Learning rates that replace the optimizer's, in the order of the members; empty if none has its own.
    pub learning_rates: Vec<Option<f64>>,
    /// Maximum tokens per micro-batch; a longer sequence gets a micro-batch of its own. On a CPU, lanes divide these
    /// tokens among themselves.
    pub micro_batch_tokens: usize,
    /// Whether to recompute each layer's activations for its backward pass, so that only one layer's are held at a
    /// time.
    pub recompute: bool,
    /// Whether to compute a prompt once for neighbouring samples that share it.
    pub share_prompts: bool,
    /// How attention pads sequences; `None`: on a CPU to the longest, on a GPU by length.
    pub padding: Option<Padding>,
    /// Whether to measure the KL divergence to the base although the loss has no such term, for one more pass of the base.
    pub observes_base: bool,
    /// Number of logits held at a time, but at least one row of the vocabulary. `None`: on a CPU [`LOGITS`], on a GPU
    /// also all for which the peak does not rise ([`UpdateShape::logits_below_the_peak`]).
    ///
    /// [`LOGITS`]: lyceum_core::footprint::LOGITS
    /// [`UpdateShape::logits_below_the_peak`]: lyceum_core::footprint::UpdateShape::logits_below_the_peak
    pub logits: Option<usize>,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self {
            loss: Loss::PolicyGradient(PolicyLoss::default()),
            optimizer: Optimizer::default(),
            learning_rates: Vec::new(),
            micro_batch_tokens: 4096,
            recompute: true,
            share_prompts: true,
            padding: None,
            observes_base: false,
            logits: None,
        }
    }
}

impl UpdateOptions {
    /// Members by learning rate: those of one rate take their step together.
    fn by_learning_rate(&self, members: &[usize]) -> Vec<(f64, Vec<usize>)> {
        let mut groups: Vec<(f64, Vec<usize>)> = Vec::new();
        for &member in members {
            let own = self.learning_rates.get(member).copied().flatten();
            let rate = own.unwrap_or(self.optimizer.learning_rate);
            match groups.iter_mut().find(|(known, _)| *known == rate) {
                Some((_, group)) => group.push(member),
                None => groups.push((rate, vec![member])),
            }
        }
        groups
    }

    pub(super) fn padding_on(&self, device: Device) -> Padding {
        self.padding.unwrap_or_else(|| Padding::on(device))
    }
}

/// An update of a population over its base.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    /// The base.
    pub model: &'a Model,
    /// How to learn.
    pub options: &'a UpdateOptions,
    /// Versions that replace the loss's KL reference, stacked in the order of the members.
    pub reference: Option<&'a Population>,
}

/// Progress of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Sequences learned from, over all epochs.
    pub done: usize,
    /// Sequences to learn from, over all epochs.
    pub total: usize,
}

/// Result of an update. The input population is unchanged.
#[derive(Debug)]
pub struct Updated {
    /// The new weights.
    pub population: Population,
    pub state: OptimizerState,
    /// Diagnostics, by member.
    pub diagnostics: Vec<MemberDiagnostics>,
    /// How often micro-batches were halved because memory ran out; if not 0, the last bits depend on the machine.
    pub halvings: u32,
}

impl Update<'_> {
    /// Trains each member on its sequences, `sequences[member]`. Members without sequences are unchanged. On error,
    /// `population` and `state` are unchanged.
    ///
    /// The result depends only on the arguments and the number of threads. A member's result does not depend on the
    /// others, except for rounding if their sequences' lengths change the number of rows of a product.
    pub fn run(
        &self,
        population: &Population,
        state: &OptimizerState,
        sequences: &[Vec<TrainingSequence>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Updated> {
        let _no_grad = tch::no_grad_guard();
        self.in_memory(population, || self.run_steps(population, state, sequences, progress))
    }

    fn run_steps(
        &self,
        population: &Population,
        state: &OptimizerState,
        sequences: &[Vec<TrainingSequence>],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Updated> {
        self.check(population, sequences)?;
        let Optimizer { epochs, minibatches, .. } = self.options.optimizer;
        let new = population.duplicate()?;
        let mut state = state.duplicate()?;
        let trained = TrainedTensor::of_population(&new);
        check_values(&trained, &(0..new.members()).collect::<Vec<_>>())?;
        let mut pass = Pass::new(self, population, sequences, epochs, progress);
        let one_step = epochs == 1 && minibatches == 1;
        if !one_step && self.old_policy() == Some(OldPolicy::Trainer) {
            pass.score_old_policy(&new)?;
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
            // There may be fewer sequences than minibatches where truncated ones are masked.
            if work.is_empty() {
                continue;
            }
            let gradient = pass.gradient(&new, &work, &work, step == 0)?;
            let members: Vec<usize> = work.iter().map(|(member, _)| *member).collect();
            self.step(&trained, &gradient, &members, &mut state, &mut norms)?;
            for (sum, of_step) in sums.iter_mut().zip(&gradient.sums) {
                sum.add(*of_step);
            }
            halvings += gradient.halvings;
        }
        check_values(&trained, &(0..new.members()).collect::<Vec<_>>())?;
        let mut diagnostics = diagnostics(&sums, &norms, epochs);
        let term = self.options.loss.kl_reference();
        if self.measures_base() || (term == Some(KlReference::Base) && self.reference.is_none()) {
            for member in &mut diagnostics {
                member.kl_to_base = Some(member.kl);
                member.kl = if term.is_some() { member.kl } else { 0.0 };
            }
        }
        Ok(Updated { population: new, state, diagnostics, halvings })
    }

    /// Whether the divergence to the base is measured without being part of the loss.
    pub(super) fn measures_base(&self) -> bool {
        let is_policy = matches!(self.options.loss, Loss::PolicyGradient(_));
        self.options.observes_base && is_policy && self.options.loss.kl_reference().is_none()
    }

    /// The gradient of the `index`th of `of` equal parts of each member's sequences, for [`Update::apply`]. Only an
    /// update of a single optimizer step can be split.
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
            return Err(EngineError::population(format!("piece {index} of {of}: indices start at 0")));
        }
        let trained = TrainedTensor::of_population(population);
        let all: Vec<_> = (0..population.members()).collect();
        self.in_memory(population, || check_values(&trained, &all))?;
        let whole: Vec<_> = (0..population.members()).map(|member| (member, 0..sequences[member].len())).collect();
        let cut = whole.iter().map(|(member, range)| (*member, part(range.len(), index, of)));
        let work: Vec<_> = cut.filter(|(_, range)| !range.is_empty()).collect();
        let gradient = self.in_memory(population, || {
            Pass::new(self, population, sequences, 1, progress).gradient(population, &work, &whole, true)
        })?;
        Ok(GradientPiece { place: Some(PieceIndex { index, of }), ..gradient })
    }

    /// Sums the pieces in the order given, which must be that of their indices, and makes the optimizer step.
    pub fn apply(&self, population: &Population, state: &OptimizerState, pieces: &[GradientPiece]) -> Result<Updated> {
        let _no_grad = tch::no_grad_guard();
        self.check_one_step()?;
        GradientPiece::require_whole(pieces)?;
        self.in_memory(population, || self.apply_whole(population, state, pieces))
    }

    fn apply_whole(
        &self,
        population: &Population,
        state: &OptimizerState,
        pieces: &[GradientPiece],
    ) -> Result<Updated> {
        let new = population.duplicate()?;
        let mut state = state.duplicate()?;
        let trained = TrainedTensor::of_population(&new);
        let mut gradient = GradientPiece::zero(&trained)?;
        for piece in pieces {
            gradient.add(piece)?;
        }
        let members: Vec<usize> = (0..new.members()).filter(|&member| gradient.sums[member].tokens > 0.0).collect();
        let mut norms = vec![Vec::new(); new.members()];
        self.step(&trained, &gradient, &members, &mut state, &mut norms)?;
        check_values(&trained, &members)?;
        let diagnostics = diagnostics(&gradient.sums, &norms, 1);
        Ok(Updated { population: new, state, diagnostics, halvings: gradient.halvings })
    }

    /// Runs a part of an update. What its passes say of memory stands; otherwise the rest did not fit.
    fn in_memory<T>(&self, population: &Population, part: impl FnOnce() -> Result<T>) -> Result<T> {
        as_errors(part).map_err(|error| {
            error.if_out_of_memory(self.model.placement.device, || {
                format!(
                    "the weights, gradients and moments of {} members, of {} parameters each, do not fit beside the base; fewer \
                     members at a time or a lower rank would",
                    population.members(),
                    population.parameters_per_member()
                )
            })
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
        for (learning_rate, members) in self.options.by_learning_rate(members) {
            let optimizer = AdamW { learning_rate, ..AdamW::from(optimizer) };
            optimizer.step(trained, &gradient.gradients, &members, state)?;
        }
        Ok(())
    }

    pub(super) fn old_policy(&self) -> Option<OldPolicy> {
        match &self.options.loss {
            Loss::PolicyGradient(loss) => Some(loss.old_policy),
            Loss::CrossEntropy => None,
        }
    }

    fn check_one_step(&self) -> Result<()> {
        let Optimizer { epochs, minibatches, .. } = self.options.optimizer;
        if epochs != 1 || minibatches != 1 {
            return Err(EngineError::population(format!(
                "`epochs` is {epochs} and `minibatches` {minibatches}; an update that is cut into pieces makes one step, so \
                 both have to be 1"
            )));
        }
        Ok(())
    }

    fn check(&self, population: &Population, sequences: &[Vec<TrainingSequence>]) -> Result<()> {
        let Optimizer { epochs, minibatches, .. } = self.options.optimizer;
        if epochs == 0 || minibatches == 0 || self.options.micro_batch_tokens == 0 {
            return Err(EngineError::population(format!(
                "`epochs` is {epochs}, `minibatches` {minibatches} and `micro_batch_tokens` {}; each must be at least 1",
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
        if let Some((_, _, factors)) = population.tensors().find(|(_, _, factors)| factors.a.kind() != Kind::Float) {
            let kind = factors.a.kind();
            return Err(EngineError::population(format!("the adapters are {kind:?}; learning keeps them in fp32")));
        }
        if let Some(reference) = self.reference
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
    sums.iter().zip(norms).map(|(sums, norms)| sums.diagnostics(norms, epochs)).collect()
}
