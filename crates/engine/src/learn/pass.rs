//! The micro-batches of an update, in lanes, with smaller micro-batches if memory runs out.

use std::ops::Range;

use lyceum_core::footprint::SHARED;
use lyceum_core::work::KlReference;
use tch::Device;

use super::batch::{MicroBatch, Pace, deal};
use super::head;
use super::layout::Token;
use super::learner::{Learner, Logprobs, Reference};
use super::loss::Normaliser;
use super::padding::Padding;
use super::piece::GradientPiece;
use super::rows::TrainingSequence;
use super::update::{Progress, Update};
use crate::error::{EngineError, Result};
use crate::lanes::{cut, side_by_side, worthwhile};
use crate::population::Population;
use crate::unwinding::as_errors;

/// Rows that a micro-batch needs for a lane's products to run near peak speed.
const ROWS_PER_LANE: usize = 1024;

/// Members with the ranges of their sequences.
type Work = [(usize, Range<usize>)];

/// Data that is constant over the steps of an update.
pub(super) struct Pass<'a> {
    update: &'a Update<'a>,
    start: &'a Population,
    sequences: &'a [Vec<TrainingSequence>],
    /// The trainer's log-probabilities before the first step, if these serve as the old policy's.
    old: Option<Logprobs>,
    lanes: usize,
    /// Tokens of one lane's micro-batch; halved when memory runs out.
    budget: usize,
    progress: Counter<'a>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        update: &'a Update<'a>,
        start: &'a Population,
        sequences: &'a [Vec<TrainingSequence>],
        epochs: u32,
        report: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let budget = update.options.micro_batch_tokens;
        let rows = sequences.iter().flatten().map(TrainingSequence::inputs).sum();
        let lanes = worthwhile(update.model.placement.device, budget.min(rows), ROWS_PER_LANE);
        Self {
            update,
            start,
            sequences,
            old: None,
            lanes,
            budget: budget / lanes,
            progress: Counter::new(sequences, epochs, report),
        }
    }

    /// The gradient of the sequences in `work`, normalised over those in `minibatch`. `first` if no step has been made
    /// yet.
    pub(super) fn gradient(
        &mut self,
        population: &Population,
        work: &Work,
        minibatch: &Work,
        first: bool,
    ) -> Result<GradientPiece> {
        let normalisers = Normaliser::of_members(&self.update.options.loss, self.sequences, minibatch);
        let (pieces, halvings) = self.in_lanes(population, work, first, |learner, batches, advance| {
            learner.gradient(batches, &normalisers, advance)
        })?;
        let mut pieces = pieces.into_iter();
        let Some(mut gradient) = pieces.next() else {
            return Err(EngineError::population("there are no sequences to learn from"));
        };
        for piece in pieces {
            gradient.add(&piece)?;
        }
        Ok(GradientPiece { halvings, ..gradient })
    }

    /// Scores all sequences, so that the ratio of every later step is relative to `population`.
    pub(super) fn score_old_policy(&mut self, population: &Population) -> Result<()> {
        let work: Vec<_> = self.sequences.iter().enumerate().map(|(member, list)| (member, 0..list.len())).collect();
        let mut old: Logprobs = self
            .sequences
            .iter()
            .map(|list| list.iter().map(|sequence| vec![0.0; sequence.completion.len()]).collect())
            .collect();
        let (scores, _) = self.in_lanes(population, &work, true, |learner, batches, _| learner.score(batches))?;
        for (token, logprob) in scores.into_iter().flatten() {
            let Token { member, sequence, place } = token;
            old[member][sequence][place] = logprob;
        }
        self.old = Some(old);
        Ok(())
    }

    /// Distributes `work` over micro-batches and these over lanes. Returns the results of `compute` for each lane, in
    /// order, and how often memory ran out; each time, everything starts again with smaller micro-batches.
    fn in_lanes<T: Send>(
        &mut self,
        population: &Population,
        work: &Work,
        first: bool,
        compute: impl Fn(&Learner<'_>, &[MicroBatch], &mut dyn FnMut(usize)) -> Result<T> + Sync,
    ) -> Result<(Vec<T>, u32)> {
        let device = self.update.model.placement.device;
        // On a CPU it is fastest to do large products for one member after the other; on a GPU, one pass for all
        // members.
        let pace = if device == Device::Cpu { Pace::InTurn } else { Pace::Together };
        let mut halvings = 0;
        loop {
            let share_prompts = self.update.options.share_prompts;
            let places = match self.update.options.padding_on(device) {
                Padding::ToLongest => usize::MAX,
                Padding::ByLength { .. } => self.budget.saturating_mul(SHARED as usize),
            };
            let batches = deal(work, self.sequences, self.budget, share_prompts, pace, places);
            let before = self.progress.done;
            match self.try_in_lanes(population, &batches, first, &compute) {
                Ok(answers) => return Ok((answers, halvings)),
                Err(error) if error.is_out_of_memory() => {
                    self.budget = smaller(device, self.budget, &batches, &error)?;
                    self.progress.done = before;
                    halvings += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn try_in_lanes<T: Send>(
        &mut self,
        population: &Population,
        batches: &[MicroBatch],
        first: bool,
        compute: &(impl Fn(&Learner<'_>, &[MicroBatch], &mut dyn FnMut(usize)) -> Result<T> + Sync),
    ) -> Result<Vec<T>> {
        let weights: Vec<usize> = batches.iter().map(MicroBatch::rows).collect();
        let parts = cut(&weights, self.lanes);
        let Self { update, start, sequences, old, progress, .. } = self;
        let options = update.options;
        let one_step = options.optimizer.epochs == 1 && options.optimizer.minibatches == 1;
        let model = update.model;
        let shape = || head::shape(options, model.placement, population, batches, sequences);
        let rows = head::rows(options, (&model.config, model.placement), population, shape, parts.len());
        let learner = || -> Result<Learner<'_>> {
            Ok(Learner {
                model: update.model.share(),
                population: population.share()?,
                reference: match (options.loss.kl_reference(), update.reference) {
                    (None, _) if update.measures_base() => Reference::Base,
                    (None, _) => Reference::Itself,
                    (Some(_), Some(versions)) => Reference::Population(versions.share()?),
                    (Some(KlReference::Base), None) => Reference::Base,
                    (Some(KlReference::Start), None) if first && one_step => Reference::Itself,
                    (Some(KlReference::Start), None) => Reference::Population(start.share()?),
                },
                options,
                sequences,
                old_policy: update.old_policy(),
                old: old.as_ref(),
                first,
                chunk: rows,
            })
        };
        if parts.len() <= 1 {
            let learner = learner()?;
            let advance = &mut |sequences| progress.advance(sequences);
            return Ok(vec![as_errors(|| compute(&learner, batches, advance))?]);
        }
        let jobs = parts.iter().map(|part| Ok((learner()?, &batches[part.clone()])));
        side_by_side(
            jobs.collect::<Result<_>>()?,
            |(learner, batches): (Learner<'_>, &[MicroBatch]), events| {
                let advance = &mut |sequences| {
                    // The receiver is gone only if the caller has panicked, and then the event is not needed.
                    let _ = events.send(sequences);
                };
                as_errors(|| compute(&learner, batches, advance))
            },
            &mut |sequences| progress.advance(sequences),
        )
        .into_iter()
        .collect()
    }
}

/// Half the rows of the largest micro-batch; an error if every micro-batch is a single sequence already.
fn smaller(device: Device, budget: usize, batches: &[MicroBatch], error: &EngineError) -> Result<usize> {
    let cut = batches.iter().filter(|batch| batch.sequences() > 1).map(MicroBatch::rows).max();
    match cut {
        Some(rows) => Ok((rows.min(budget) / 2).max(1)),
        None => Err(EngineError::OutOfMemory {
            device: format!("{device:?}"),
            detail: format!(
                "even one sequence at a time, of {} tokens the longest, does not fit; shorter ones would ({error})",
                batches.iter().map(MicroBatch::rows).max().unwrap_or(0)
            ),
        }),
    }
}

struct Counter<'a> {
    done: usize,
    total: usize,
    report: &'a mut dyn FnMut(Progress),
}

impl<'a> Counter<'a> {
    fn new(sequences: &[Vec<TrainingSequence>], epochs: u32, report: &'a mut dyn FnMut(Progress)) -> Self {
        Self { done: 0, total: sequences.iter().map(Vec::len).sum::<usize>() * epochs as usize, report }
    }

    fn advance(&mut self, sequences: usize) {
        self.done += sequences;
        (self.report)(Progress { done: self.done, total: self.total });
    }
}
