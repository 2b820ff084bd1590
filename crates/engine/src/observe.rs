//! An observer: a fresh adapter that learns texts, for their epiplexity (arXiv 2604.03472, appendix E.4).

use lyceum_core::diversity::ObserverLosses;
use lyceum_core::work::{Loss, Observer};

use crate::error::Result;
use crate::learn::{OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions};
use crate::model::Model;
use crate::population::Population;
use crate::score::{ScoreOptions, ScoreRequest, score};

/// Texts as token ids. Their first tokens are given, since nothing precedes them.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'t> {
    /// The texts that the observer learns, in order.
    pub texts: &'t [Vec<i64>],
    /// The texts that show when to stop.
    pub validation: &'t [Vec<i64>],
}

/// The losses of an adapter, initialised from `seed`, that learns texts in order, pass after pass, until its loss on the
/// validation texts no longer falls. `progress` is called with the share of the passes that is done at most. Texts of
/// fewer than two tokens are left out.
///
/// # Errors
/// Ids outside of the vocabulary, a text longer than the model's context, or weights that overflow.
pub fn observe(
    model: &Model,
    observed: Observed<'_>,
    observer: &Observer,
    seed: u64,
    progress: &mut dyn FnMut(f32),
) -> Result<ObserverLosses> {
    let whole = |texts: &[Vec<i64>]| -> Vec<Vec<i64>> { texts.iter().filter(|ids| ids.len() > 1).cloned().collect() };
    let (texts, validation) = (whole(observed.texts), whole(observed.validation));
    let mut losses = ObserverLosses {
        tokens: learned(&texts),
        validation_tokens: learned(&validation),
        ..ObserverLosses::default()
    };
    if texts.is_empty() || validation.is_empty() {
        return Ok(losses);
    }
    let device = model.placement.device;
    let mut population = Population::initialise(&model.config, observer.lora.clone(), 1, seed, device)?;
    let mut state = OptimizerState::new(&TrainedTensor::of_population(&population))?;
    let options = UpdateOptions {
        loss: Loss::CrossEntropy,
        optimizer: observer.optimizer(),
        micro_batch_tokens: observer.micro_batch_tokens as usize,
        ..UpdateOptions::default()
    };
    let update = Update { model, options: &options, reference: None };
    for pass in 1..=observer.epochs {
        let batches = texts.chunks(observer.batch.max(1) as usize);
        let of_pass = batches.len() as f32;
        for (done, batch) in batches.enumerate() {
            progress(((pass - 1) as f32 + done as f32 / of_pass) / observer.epochs as f32);
            let batch: Vec<TrainingSequence> = batch.iter().map(|ids| sequence(ids)).collect();
            let updated = update.run(&population, &state, &[batch], &mut |_| ())?;
            if pass == 1 {
                let of_batch = updated.diagnostics[0];
                losses.online += of_batch.policy_loss * of_batch.tokens as f64;
            }
            (population, state) = (updated.population, updated.state);
        }
        losses.passes.push([total(model, &population, &texts)?, total(model, &population, &validation)?]);
        if losses.has_converged(observer.patience) {
            break;
        }
    }
    Ok(losses)
}

/// Tokens that are predicted.
fn learned(texts: &[Vec<i64>]) -> u64 {
    texts.iter().map(|ids| ids.len() as u64 - 1).sum()
}

fn sequence(ids: &[i64]) -> TrainingSequence {
    TrainingSequence {
        id: "text".to_owned(),
        prompt: ids[..1].to_vec(),
        completion: ids[1..].to_vec(),
        logprobs: Vec::new(),
        advantage: 0.0,
    }
}

/// The loss on texts, in nats, summed over tokens.
fn total(model: &Model, population: &Population, texts: &[Vec<i64>]) -> Result<f64> {
    let requests: Vec<ScoreRequest> =
        texts.iter().map(|ids| ScoreRequest { ids: ids.clone(), adapter: Some(0) }).collect();
    let scores = score(model, Some(population), &requests, ScoreOptions::default())?;
    let logprobs = scores.iter().flat_map(|score| &score.logprobs);
    Ok(-logprobs.map(|logprob| f64::from(*logprob)).sum::<f64>())
}
