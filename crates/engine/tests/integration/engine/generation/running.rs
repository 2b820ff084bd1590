//! Running out of memory, and the events reported on the way.

use super::*;
use crate::device::{capacity_step, device};

/// The budget stands in for the memory of a device.
#[test]
fn running_out_of_memory_halves_the_batch_and_changes_no_result() {
    let name = "qwen2-tied";
    let (model, golden) = (model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let requests: Vec<_> = (0..8).map(|row| sampled(1, &sequences[row % 4], Some(row % 3), row as u64)).collect();
    let plenty = generate(&model, Some(&stacked), &requests, &slots(8));
    assert!(plenty.halved.is_empty());
    // The size of one slot: two layers, keys and values, two heads of eight, the first positions, four bytes.
    let slot = 2 * 2 * 2 * 8 * u64::from(capacity_step()) * 4;
    let tight = GenerationOptions { cache_bytes: Some(2 * slot), ..slots(64) };
    let generator = Generator { model: &model, population: Some(&stacked), tokenizer: None };
    // In one lane, and in two, which halve their slots when they run out of memory. A GPU has one.
    let threads_before = tch::get_num_threads();
    let in_lanes = if device().is_cuda() { 2 } else { 4 };
    for (threads, times) in [(1, 2), (2, in_lanes)] {
        tch::set_num_threads(threads);
        let mut events = Vec::new();
        let halved = generator
            .generate(&requests, &tight, &mut |event| {
                if let GenerationEvent::Halved { slots } = event {
                    events.push(slots);
                }
            })
            .unwrap();
        assert_eq!(halved.halved, events);
        assert!(events.len() == times && events.is_sorted_by(|a, b| a > b) && events.last() == Some(&2), "{events:?}");
        assert!(threads > 1 || events == [4, 2]);
        for (plenty, halved) in plenty.results.iter().zip(&halved.results) {
            assert_same(&plenty.completions, &halved.completions);
        }
    }
    tch::set_num_threads(threads_before);
    let hopeless = GenerationOptions { cache_bytes: Some(slot - 1), ..slots(8) };
    let error = generator.generate(&requests, &hopeless, &mut |_| ()).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains("even one sequence"), "{error}");
}

/// Memory runs out when the cache grows past its first positions, with tokens generated already.
#[test]
fn what_was_generated_when_memory_ran_out_is_kept_and_gone_on_with() {
    let name = "qwen2-tied";
    let (model, golden) = (long_model(name), Golden::of(name));
    let stacked = population(&model, name, &STACKED);
    let sequences = golden.sequences();
    let (first, max_tokens) = (capacity_step(), capacity_step() + 36);
    let requests: Vec<_> = (0..4)
        .map(|row| GenerationRequest {
            sampling: Sampling { max_tokens, ..sampling() },
            ..sampled(2, &sequences[row], Some(row % 3), row as u64)
        })
        .collect();
    let generator = Generator { model: &model, population: Some(&stacked), tokenizer: None };
    let threads = tch::get_num_threads();
    tch::set_num_threads(1);
    let plenty = generate(&model, Some(&stacked), &requests, &slots(8));
    // Eight slots of the first size, so four of twice that.
    let tight = GenerationOptions { cache_bytes: Some(8 * 2 * 2 * 2 * 8 * u64::from(first) * 4), ..slots(8) };
    let (mut counts, mut halved_at) = (vec![0], Vec::new());
    let halved = generator
        .generate(&requests, &tight, &mut |event| match event {
            GenerationEvent::Progress { tokens, .. } => counts.push(tokens),
            GenerationEvent::Halved { .. } => halved_at.push(counts.len() - 1),
            GenerationEvent::Finished(_) => {}
        })
        .unwrap();
    tch::set_num_threads(threads);
    let &[at] = halved_at.as_slice() else { panic!("{halved_at:?}") };
    assert!(counts[at] > 100, "{counts:?}");
    // One sequence of each member goes on. Passing through the model again would draw a token for each before the next step.
    assert_eq!(counts[at + 1], counts[at] + 3, "{counts:?}");
    assert!(counts.is_sorted(), "no token is generated twice: {counts:?}");
    assert_eq!(counts.last(), Some(&u64::from(8 * max_tokens)));
    for (plenty, halved) in plenty.results.iter().zip(&halved.results) {
        assert_same(&plenty.completions, &halved.completions);
    }
}

#[test]
fn progress_counts_to_the_end_and_results_stream_as_they_finish() {
    let model = model("qwen2-tied");
    let generator = Generator { model: &model, population: None, tokenizer: None };
    let mut requests: Vec<_> = (0..3).map(|index| sampled(2, &[5, index], None, 1)).collect();
    for (index, request) in requests.iter_mut().enumerate() {
        request.id = index.to_string();
        request.sampling.max_tokens = 9 - 3 * index as u32;
    }
    let (mut last, mut order) = (None, Vec::new());
    // Lanes would finish in any order.
    let threads = tch::get_num_threads();
    tch::set_num_threads(1);
    generator
        .generate(&requests, &slots(6), &mut |event| match event {
            GenerationEvent::Progress { finished, completions, tokens } => last = Some((finished, completions, tokens)),
            GenerationEvent::Finished(result) => order.push(result.id.clone()),
            GenerationEvent::Halved { .. } => panic!("memory did not run out"),
        })
        .unwrap();
    tch::set_num_threads(threads);
    assert_eq!(order, ["2", "1", "0"]);
    assert_eq!(last, Some((6, 6, 2 * (9 + 6 + 3))));
}
