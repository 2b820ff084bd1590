//! Generation in lanes: on a CPU, members are distributed over lanes that decode in parallel.

use std::ops::Range;

use super::{Generated, GenerationEvent, GenerationOptions, GenerationRequest, GenerationResult, Generator};
use crate::error::Result;
use crate::lanes::{cut, side_by_side, worthwhile};
use crate::model::Model;
use crate::population::{LayerAdapters, Population};

/// Minimum number of sequences per lane: with fewer, reading the weights, which every lane does for itself, takes
/// longer than the products.
const SEQUENCES_PER_LANE: usize = 32;
/// Bases with at most this many parameters are read so quickly that a lane pays off for two sequences.
const SMALL_BASE: i64 = 1 << 24;
/// Most work in the fullest lane, in percent of the average. Beyond this, one lane with all threads is faster.
const IMBALANCE: usize = 110;

/// The indices of each lane's requests. Requests of one member stay together if possible, for larger products.
pub(super) fn divide(requests: &[GenerationRequest], options: &GenerationOptions, model: &Model) -> Vec<Vec<usize>> {
    let samples: usize = requests.iter().map(|request| request.n).sum();
    let least = if model.config.parameters() <= SMALL_BASE {
        2
    } else {
        SEQUENCES_PER_LANE
    };
    let most = worthwhile(model.placement.device, samples.min(options.max_slots), least);
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| requests[index].adapter.unwrap_or(usize::MAX));
    // Prompt tokens are processed many at a time and cost about half as much.
    let weight = |index: usize| {
        requests[index].prompt.len() / 2 + requests[index].n * requests[index].sampling.max_tokens as usize
    };
    let weights: Vec<usize> = order.iter().map(|&index| weight(index)).collect();
    let parts = (2..=most).rev().map(|lanes| (lanes, cut(&weights, lanes)));
    let even = parts
        .into_iter()
        .find(|(lanes, parts)| parts.len() == *lanes && is_even(&weights, parts));
    match even {
        Some((_, parts)) => parts.into_iter().map(|part| order[part].to_vec()).collect(),
        None => vec![order],
    }
}

/// Whether the parts are balanced enough for lanes to beat one lane with all threads.
fn is_even(weights: &[usize], parts: &[Range<usize>]) -> bool {
    let total: usize = weights.iter().sum();
    let of = |part: &Range<usize>| weights[part.clone()].iter().sum::<usize>();
    parts.iter().map(of).max().unwrap_or(0) * parts.len() * 100 <= total * IMBALANCE
}

/// A lane's own data: handles on the weights, and its requests.
struct Lane {
    index: usize,
    model: Model,
    population: Option<Population>,
    adapters: Vec<LayerAdapters>,
    requests: Vec<GenerationRequest>,
    options: GenerationOptions,
}

enum LaneEvent {
    Progress { lane: usize, finished: usize, tokens: u64 },
    Finished(GenerationResult),
    Halved { lane: usize, slots: usize },
}

impl Generator<'_> {
    /// Completes validated requests, each of `lanes` in its own batch.
    pub(super) fn generate_in_lanes(
        &self,
        adapters: &[LayerAdapters],
        requests: &[GenerationRequest],
        options: &GenerationOptions,
        lanes: &[Vec<usize>],
        observe: &mut dyn FnMut(GenerationEvent<'_>),
    ) -> Result<Generated> {
        let count = lanes.len();
        let jobs = lanes.iter().enumerate().map(|(index, of_lane)| {
            Ok(Lane {
                index,
                model: self.model.share(),
                population: self.population.map(Population::share).transpose()?,
                adapters: adapters.iter().map(LayerAdapters::share).collect::<Result<_>>()?,
                requests: of_lane.iter().map(|&index| requests[index].clone()).collect(),
                options: GenerationOptions {
                    max_slots: (options.max_slots / count).max(1),
                    prefill_tokens: (options.prefill_tokens / count).max(1),
                    cache_bytes: options.cache_bytes.map(|bytes| bytes / count as u64),
                    share_prompts: options.share_prompts,
                    graphs: options.graphs,
                },
            })
        });
        let completions = requests.iter().map(|request| request.n).sum();
        let mut progress = vec![(0, 0); count];
        let samples = |lane: &Vec<usize>| lane.iter().map(|&index| requests[index].n).sum::<usize>();
        let mut slots: Vec<usize> = lanes
            .iter()
            .map(|lane| samples(lane).min(options.max_slots / count).max(1))
            .collect();
        let mut halved = Vec::new();
        let tokenizer = self.tokenizer;
        let generated = side_by_side(
            jobs.collect::<Result<_>>()?,
            |lane: Lane, events| {
                let generator = Generator {
                    model: &lane.model,
                    population: lane.population.as_ref(),
                    tokenizer,
                };
                generator.generate_together(&lane.adapters, &lane.requests, &lane.options, &mut |event| {
                    let lane = lane.index;
                    // The receiver is gone only if the caller has panicked, and then the event is not needed.
                    let _ = events.send(match event {
                        GenerationEvent::Progress { finished, tokens, .. } => {
                            LaneEvent::Progress { lane, finished, tokens }
                        }
                        GenerationEvent::Finished(result) => LaneEvent::Finished(result.clone()),
                        GenerationEvent::Halved { slots } => LaneEvent::Halved { lane, slots },
                    });
                })
            },
            &mut |event| match event {
                LaneEvent::Progress { lane, finished, tokens } => {
                    progress[lane] = (finished, tokens);
                    observe(GenerationEvent::Progress {
                        finished: progress.iter().map(|(finished, _)| finished).sum(),
                        completions,
                        tokens: progress.iter().map(|(_, tokens)| tokens).sum(),
                    });
                }
                LaneEvent::Finished(result) => observe(GenerationEvent::Finished(&result)),
                LaneEvent::Halved { lane, slots: left } => {
                    slots[lane] = left;
                    let slots = slots.iter().sum();
                    halved.push(slots);
                    observe(GenerationEvent::Halved { slots });
                }
            },
        );
        let mut results: Vec<Option<GenerationResult>> = vec![None; requests.len()];
        for (of_lane, generated) in lanes.iter().zip(generated) {
            for (&index, result) in of_lane.iter().zip(generated?.results) {
                results[index] = Some(result);
            }
        }
        Ok(Generated {
            results: results.into_iter().flatten().collect(),
            halved,
        })
    }
}
