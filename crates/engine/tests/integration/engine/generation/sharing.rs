//! Prompts that are held once for all their samples change no result, and take less memory.

use std::collections::HashSet;

use super::*;

use crate::device::{capacity_step, placement};

/// Keys and values of a position of `qwen2-tied` in bytes: two layers, two heads of eight, four bytes.
const POSITION: u64 = 2 * 2 * 2 * 8 * 4;

fn sharing(max_slots: usize) -> GenerationOptions {
    GenerationOptions { share_prompts: true, ..slots(max_slots) }
}

/// Eight samples of a prompt of this length.
fn eight(number: usize, tokens: usize, adapter: Option<usize>, sampling: Sampling) -> GenerationRequest {
    GenerationRequest {
        id: number.to_string(),
        n: 8,
        seed: number as u64,
        ..request(&(0..tokens).map(|at| ((number * 31 + at * 17) % 300) as i64).collect::<Vec<_>>(), adapter, sampling)
    }
}

/// Without lanes, which would divide slots and memory.
fn in_one_lane<T>(compute: impl FnOnce() -> T) -> T {
    let threads = tch::get_num_threads();
    tch::set_num_threads(1);
    let result = compute();
    tch::set_num_threads(threads);
    result
}

fn assert_same_results(left: &Generated, right: &Generated) {
    assert_eq!(left.results.len(), right.results.len());
    for (left, right) in left.results.iter().zip(&right.results) {
        assert_same(&left.completions, &right.completions);
    }
}

#[test]
fn shared_prompts_change_no_result() {
    let adapters = [Some(0), Some(2), None, Some(1), Some(0), None];
    // Some samples end early, so that slots become free one by one.
    let ending = Sampling { max_tokens: 30, stop_token_ids: (0..40).collect(), ..sampling() };
    for name in FULL_SET {
        let model = model(name);
        let stacked = population(&model, name, &STACKED);
        let mut lengths = HashSet::new();
        for sampling in [greedy(), ending.clone()] {
            for ragged in [0, 13] {
                let prompt = |(number, &adapter): (usize, &Option<usize>)| {
                    eight(number, 9 + number * ragged, adapter, sampling.clone())
                };
                let requests: Vec<_> = adapters.iter().enumerate().map(prompt).collect();
                let copied = generate(&model, Some(&stacked), &requests, &slots(48));
                for max_slots in [48, 11, 3] {
                    let shared = generate(&model, Some(&stacked), &requests, &sharing(max_slots));
                    assert_same_results(&copied, &shared);
                    assert!(shared.halved.is_empty());
                }
                let completions = copied.results.iter().flat_map(|result| &result.completions);
                lengths.extend(completions.map(|completion| completion.ids.len()));
            }
        }
        assert!(lengths.len() > 10, "samples end at many lengths: {lengths:?}");
        let of_base: Vec<_> = (0..3).map(|number| eight(number, 5 + 20 * number, None, sampling())).collect();
        assert_same_results(
            &generate(&model, None, &of_base, &slots(24)),
            &generate(&model, None, &of_base, &sharing(5)),
        );
    }
}

#[test]
fn shared_prompts_need_the_memory_of_one_and_of_each_samples_own_tokens() {
    let model = long_model("qwen2-tied");
    let requests = [eight(0, capacity_step() as usize + 36, None, sampling())];
    let plenty = generate(&model, None, &requests, &slots(8));
    // A prompt in two steps, and eight slots of one.
    let bytes = (2 + 8) * u64::from(capacity_step()) * POSITION;
    for (share_prompts, cache_bytes, halved) in
        [(true, bytes, vec![]), (true, bytes - 1, vec![4]), (false, bytes, vec![4])]
    {
        let options = GenerationOptions { cache_bytes: Some(cache_bytes), share_prompts, ..slots(8) };
        let generated = in_one_lane(|| generate(&model, None, &requests, &options));
        assert_eq!(generated.halved, halved);
        assert_same_results(&plenty, &generated);
    }
}

/// Prompt after prompt passes through slots for the samples of one.
#[test]
fn a_prompt_that_no_sample_needs_leaves_its_memory_to_the_next() {
    let model = long_model("qwen2-tied");
    let longer = capacity_step() as usize + 6;
    let requests: Vec<_> = (0..5).map(|number| eight(number, longer + number, None, sampling())).collect();
    let plenty = generate(&model, None, &requests, &slots(40));
    let options =
        GenerationOptions { cache_bytes: Some((2 + 8) * u64::from(capacity_step()) * POSITION), ..sharing(8) };
    let tight = in_one_lane(|| generate(&model, None, &requests, &options));
    assert!(tight.halved.is_empty());
    assert_same_results(&plenty, &tight);
}

/// Memory runs out when slots grow past their first positions. Sequences that go on share their prompts again.
#[test]
fn sequences_that_go_on_after_memory_ran_out_share_their_prompts() {
    let name = "qwen2-tied";
    let model = long_model(name);
    let stacked = population(&model, name, &STACKED);
    let step = capacity_step();
    let long = Sampling { max_tokens: step + 16, ..sampling() };
    let adapters = [Some(0), Some(1), None, Some(2)];
    let requests: Vec<_> =
        (0..4).map(|number| eight(number, 30 + 5 * number, adapters[number], long.clone())).collect();
    let plenty = generate(&model, Some(&stacked), &requests, &slots(32));
    let options = GenerationOptions {
        // Four prompts and 32 slots of one step, or 16 of two.
        cache_bytes: Some((4 + 32) * u64::from(step) * POSITION),
        ..sharing(32)
    };
    let generator = Generator { model: &model, population: Some(&stacked), tokenizer: None };
    let (mut counts, mut halved_at) = (vec![0], Vec::new());
    let tight = in_one_lane(|| {
        generator.generate(&requests, &options, &mut |event| match event {
            GenerationEvent::Progress { tokens, .. } => counts.push(tokens),
            GenerationEvent::Halved { .. } => halved_at.push(counts[counts.len() - 1]),
            GenerationEvent::Finished(_) => {}
        })
    })
    .unwrap();
    assert_eq!(tight.halved, [16]);
    assert_eq!(halved_at, [32 * (u64::from(step) + 1)]);
    assert!(counts.is_sorted(), "no token is generated twice: {counts:?}");
    assert_eq!(counts.last(), Some(&(32 * (u64::from(step) + 16))));
    assert_same_results(&plenty, &tight);
}

#[test]
fn shared_prompts_work_in_bf16() {
    let placement = Placement { dtype: Dtype::Bf16, ..placement() };
    let model = Model::load(&model_folder("qwen2-tied"), placement).unwrap();
    let requests: Vec<_> = (0..3).map(|number| eight(number, 20 + 9 * number, None, greedy())).collect();
    let copied = generate(&model, None, &requests, &slots(24));
    let shared = generate(&model, None, &requests, &sharing(5));
    for (copied, shared) in copied.results.iter().zip(&shared.results) {
        for (copied, shared) in copied.completions.iter().zip(&shared.completions) {
            // Greedy tokens may differ where two are about equally probable; until then the precision is that of bf16.
            let same = copied.ids.iter().zip(&shared.ids).take_while(|(left, right)| left == right).count();
            assert!(difference(&copied.logprobs[..same], &shared.logprobs[..same]) < 0.1);
            assert!(shared.logprobs.iter().all(|logprob| logprob.is_finite()));
        }
    }
}
