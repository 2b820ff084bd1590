//! Generation in lanes: on a CPU, members are distributed over lanes that decode in parallel; the rows of the decoding batch over the members.

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
    let least = if model.config.parameters() <= SMALL_BASE { 2 } else { SEQUENCES_PER_LANE };
    let most = worthwhile(model.placement.device, samples.min(options.max_slots), least);
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| requests[index].adapter.unwrap_or(usize::MAX));
    // Prompt tokens are processed many at a time and cost about half as much.
    let weight = |index: usize| {
        requests[index].prompt.len() / 2 + requests[index].n * requests[index].sampling.max_tokens as usize
    };
    let weights: Vec<usize> = order.iter().map(|&index| weight(index)).collect();
    let parts = (2..=most).rev().map(|lanes| (lanes, cut(&weights, lanes)));
    let even = parts.into_iter().find(|(lanes, parts)| parts.len() == *lanes && is_even(&weights, parts));
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
        let mut slots: Vec<usize> =
            lanes.iter().map(|lane| samples(lane).min(options.max_slots / count).max(1)).collect();
        let mut halved = Vec::new();
        let tokenizer = self.tokenizer;
        let generated = side_by_side(
            jobs.collect::<Result<_>>()?,
            |lane: Lane, events| {
                let generator = Generator { model: &lane.model, population: lane.population.as_ref(), tokenizer };
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
        Ok(Generated { results: results.into_iter().flatten().collect(), halved })
    }
}

/// Shares `slots` rows among groups by water-filling: every group gets its demand up to one common level, so equal
/// demands get equal rows. `active` rows are never taken away. If there are more groups than slots, groups with active
/// rows come first, then the others in order, with one row each.
pub(super) fn allot(demand: &[usize], active: &[usize], slots: usize) -> Vec<usize> {
    let groups = demand.iter().filter(|&&demand| demand > 0).count();
    if groups > slots {
        let mut left = slots.saturating_sub(active.iter().filter(|&&active| active > 0).count());
        let share = |(&demand, &active): (&usize, &usize)| {
            if active > 0 {
                return active;
            }
            let share = usize::from(demand > 0 && left > 0);
            left -= share;
            share
        };
        return demand.iter().zip(active).map(share).collect();
    }
    let total = |level: usize| demand.iter().map(|&demand| demand.min(level)).sum::<usize>();
    let (mut level, mut above) = (0, slots + 1);
    while above - level > 1 {
        let middle = level + (above - level) / 2;
        if total(middle) <= slots { level = middle } else { above = middle }
    }
    demand.iter().zip(active).map(|(&demand, &active)| demand.min(level).max(active)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::allot;

    #[test]
    fn equal_demands_get_equal_rows_and_small_ones_what_they_ask() {
        assert_eq!(allot(&[10, 10, 10], &[0, 0, 0], 12), [4, 4, 4]);
        assert_eq!(allot(&[10, 1, 10], &[0, 0, 0], 12), [5, 1, 5]);
        assert_eq!(allot(&[2, 3], &[0, 0], 100), [2, 3]);
        assert_eq!(allot(&[5, 5, 5], &[0, 0, 1], 2), [1, 0, 1]);
    }

    proptest! {
        #[test]
        fn rows_stay_within_demand_and_slots(demand in prop::collection::vec(0usize..50, 1..12), slots in 1usize..64) {
            let rows = allot(&demand, &vec![0; demand.len()], slots);
            prop_assert!(rows.iter().zip(&demand).all(|(rows, demand)| rows <= demand));
            prop_assert!(rows.iter().sum::<usize>() <= slots);
            prop_assert!(demand.iter().all(|&demand| demand == 0) || rows.iter().any(|&rows| rows > 0));
        }

        #[test]
        fn rows_in_use_are_kept_while_demand_falls(demand in prop::collection::vec(1usize..50, 1..12), slots in 1usize..64) {
            let first = allot(&demand, &vec![0; demand.len()], slots);
            let fallen: Vec<usize> = first.iter().zip(&demand).map(|(rows, demand)| demand - rows / 2).collect();
            let active: Vec<usize> = first.iter().map(|rows| rows - rows / 2).collect();
            let second = allot(&fallen, &active, slots);
            prop_assert!(second.iter().zip(&active).all(|(rows, active)| rows >= active));
            prop_assert!(second.iter().sum::<usize>() <= slots);
        }
    }
}
