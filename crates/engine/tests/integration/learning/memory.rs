//! Peak memory, mostly compared with the formula, and running out of memory. Both are observed in separate child processes.

use std::fs;
use std::process::Command;

use lyceum_core::footprint::{BaseShape, UpdateShape};
use lyceum_core::work::{LoraShape, Projection, Sampling};
use lyceum_engine::config::Architecture;
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{TrainingSequence, Update, UpdateOptions};
use lyceum_engine::model::LayerWeights;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score_observed};
use lyceum_engine::{Model, ModelConfig, Placement, Population};
use tch::{Device, Kind, Tensor};

use crate::device::skips_host_memory;
use crate::learning::batch::{fresh, weights};
use crate::learning::fixtures::difference;

const CHILD: &str = "LYCEUM_TEST_CHILD";
const MEMBERS: usize = 4;
const RANK: u32 = 16;

/// Runs a single test of this file, with an allocator that returns every freed tensor.
fn in_child(test: &str, case: usize) {
    let (_, module) = module_path!().split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, case.to_string())
        .env("MALLOC_MMAP_THRESHOLD_", "65536")
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // A name that no test has succeeds, too.
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    println!("{text}");
}

/// The case that this child process runs.
fn child() -> Option<usize> {
    std::env::var(CHILD).ok()?.parse().ok()
}

fn model() -> Model {
    let config = ModelConfig {
        architecture: Architecture::Qwen2,
        vocab_size: 4096,
        hidden_size: 256,
        intermediate_size: 768,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 64,
        max_position_embeddings: 1024,
        rms_norm_eps: 1e-6,
        rope_theta: 1e4,
        rope_scaling: None,
        tie_word_embeddings: true,
        attention_bias: true,
        eos_token_ids: Vec::new(),
        pad_token_id: None,
    };
    let options = (Kind::Float, Device::Cpu);
    let normal = |shape: [i64; 2]| Tensor::randn(shape, options) * 0.05;
    let ones = || Tensor::ones([256], options);
    let layers = (0..4).map(|_| LayerWeights {
        input_layernorm: ones(),
        qkv_proj: normal([512, 256]),
        qkv_bias: Some(Tensor::zeros([512], options)),
        qk_norm: None,
        o_proj: normal([256, 256]),
        post_attention_layernorm: ones(),
        gate_up_proj: normal([2 * 768, 256]),
        down_proj: normal([256, 768]),
    });
    let embed_tokens = normal([4096, 256]);
    Model {
        layers: layers.collect(),
        norm: ones(),
        lm_head: embed_tokens.shallow_clone(),
        embed_tokens,
        config,
        placement: Placement::REFERENCE,
    }
}

fn population(model: &Model) -> Population {
    let shape = LoraShape::new(RANK, 32.0, false, Projection::ALL.to_vec()).unwrap();
    Population::initialise(&model.config, shape, MEMBERS, 1, Device::Cpu).unwrap()
}

/// Eight sequences per member of 32 + 33 tokens, in groups that share a prompt.
fn sequences(samples: usize) -> Vec<Vec<TrainingSequence>> {
    let sequence = |member: usize, index: usize| TrainingSequence {
        id: format!("{member}-{index}"),
        prompt: (0..32).map(|at| ((member + index / samples * 7 + at * 3) % 4096) as i64).collect(),
        completion: (0..33).map(|at| ((member * 31 + index * 5 + at) % 4096) as i64).collect(),
        logprobs: vec![-8.0; 33],
        advantage: if index.is_multiple_of(2) { 1.0 } else { -1.0 },
    };
    (0..MEMBERS).map(|member| (0..8).map(|index| sequence(member, index)).collect()).collect()
}

fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the pointer is to a valid rlimit for the time of the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

#[test]
fn the_peak_is_what_the_formula_says() {
    // Recomputation, samples of a prompt, logits at a time.
    const CASES: [(bool, usize, usize); 4] =
        [(false, 1, 1 << 18), (true, 1, 1 << 18), (false, 4, 1 << 18), (true, 1, 1 << 24)];
    if skips_host_memory() {
        return;
    }
    let Some(case) = child() else {
        (0..CASES.len()).for_each(|case| in_child("the_peak_is_what_the_formula_says", case));
        return;
    };
    let (recompute, samples, logits) = CASES[case];
    tch::set_num_threads(1);
    let model = model();
    let all = population(&model);
    let state = fresh(&all);
    let base = BaseShape {
        vocab_size: 4096,
        hidden_size: 256,
        intermediate_size: 768,
        num_hidden_layers: 4,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 64,
        tie_word_embeddings: true,
    };
    let learned = (MEMBERS * 8 * 33) as u64;
    let places = (MEMBERS * 8 * 64) as u64;
    let sequences = sequences(samples);
    let options =
        UpdateOptions { micro_batch_tokens: 1 << 20, recompute, logits: Some(logits), ..UpdateOptions::default() };
    let update = Update { model: &model, options: &options, reference: None };
    let run = |sequences: &[Vec<TrainingSequence>]| drop(update.run(&all, &state, sequences, &mut |_| ()).unwrap());
    // A small run first, to load code and fill libtorch's caches.
    run(&sequences.iter().map(|list| list[..1].to_vec()).collect::<Vec<_>>());
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS");
    run(&sequences);
    let measured = status("VmHWM") - before;
    let prompts = places / 2 / samples as u64;
    let shape = UpdateShape {
        members: MEMBERS as u64,
        rows: prompts + places / 2,
        together: MEMBERS as u64,
        references: 0,
        places,
        longest: 64,
        learned,
        logits: logits as u64,
        bytes: 4,
        recompute,
        own_loops: true,
    };
    let memory = shape.peak(&base, &all.shape);
    // The base, the members and their moments already existed.
    let predicted = memory.total() - memory.base - memory.adapters / 2 - memory.moments / 2;
    let ratio = measured as f64 / predicted as f64;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "recompute {recompute}, {samples} samples, {logits} logits: measured {:.1} MiB, predicted {:.1} MiB, ratio {ratio:.3}",
        mib(measured),
        mib(predicted)
    );
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}: {memory:?}");
}

#[test]
fn running_out_of_memory_halves_the_micro_batch_and_changes_no_result() {
    if skips_host_memory() {
        return;
    }
    if child().is_none() {
        in_child("running_out_of_memory_halves_the_micro_batch_and_changes_no_result", 0);
        return;
    }
    tch::set_num_threads(1);
    let model = model();
    let all = population(&model);
    let state = fresh(&all);
    let sequences = sequences(1);
    let with_budget = |micro_batch_tokens| {
        let options =
            UpdateOptions { micro_batch_tokens, recompute: false, logits: Some(1 << 18), ..UpdateOptions::default() };
        let update = Update { model: &model, options: &options, reference: None };
        update.run(&all, &state, &sequences, &mut |_| ())
    };
    let plenty = with_budget(512).unwrap();
    assert_eq!(plenty.halvings, 0);
    let size = status("VmSize");
    // All at once takes over 150 MiB.
    limit_address_space(size + (100 << 20));
    let halved = with_budget(1 << 20).unwrap();
    limit_address_space(libc::RLIM_INFINITY);
    assert!(halved.halvings > 0);
    assert!(difference(&weights(&plenty.population), &weights(&halved.population)) < 1e-4);

    limit_address_space(size + (24 << 20));
    let error = with_budget(1 << 20).unwrap_err();
    limit_address_space(libc::RLIM_INFINITY);
    assert!(error.is_out_of_memory(), "{error}");
    println!("{error}");
}

#[test]
fn running_out_of_memory_halves_the_passes_of_scoring_and_changes_no_score() {
    if skips_host_memory() {
        return;
    }
    if child().is_none() {
        in_child("running_out_of_memory_halves_the_passes_of_scoring_and_changes_no_score", 0);
        return;
    }
    tch::set_num_threads(1);
    let model = model();
    let requests: Vec<_> = sequences(1)
        .into_iter()
        .flatten()
        .map(|sequence| ScoreRequest { ids: sequence.prompt, adapter: None })
        .collect();
    let with_budget = |tokens_per_pass| {
        let options = ScoreOptions { tokens_per_pass, last_logits: false };
        let mut halved = Vec::new();
        let scores = score_observed(&model, None, &requests, options, &|index| index.to_string(), &mut |tokens| {
            halved.push(tokens)
        });
        (scores, halved)
    };
    let (plenty, halved) = with_budget(64);
    assert!(halved.is_empty());
    let size = status("VmSize");
    // The gated MLP alone takes 6 MiB for all 1,024 tokens at once, and four times that at its peak.
    limit_address_space(size + (12 << 20));
    let (scores, halved) = with_budget(1 << 20);
    limit_address_space(libc::RLIM_INFINITY);
    assert!(!halved.is_empty() && halved.is_sorted_by(|a, b| a > b), "{halved:?}");
    for (plenty, score) in plenty.unwrap().iter().zip(&scores.unwrap()) {
        assert!(difference(&plenty.logprobs, &score.logprobs) < 1e-4);
    }

    limit_address_space(size);
    let (error, _) = with_budget(1 << 20);
    limit_address_space(libc::RLIM_INFINITY);
    let error = error.unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
}

#[test]
fn prompts_are_held_by_the_slots_and_by_one_prefill_pass() {
    if skips_host_memory() {
        return;
    }
    if child().is_none() {
        in_child("prompts_are_held_by_the_slots_and_by_one_prefill_pass", 0);
        return;
    }
    const PROMPTS: u64 = 32;
    const TOKENS: u64 = 512;
    tch::set_num_threads(1);
    let model = model();
    let requests: Vec<_> = (0..PROMPTS)
        .map(|request| GenerationRequest {
            id: request.to_string(),
            prompt: (0..TOKENS).map(|at| ((request * 7 + at * 3) % 4096) as i64).collect(),
            adapter: None,
            n: 1,
            sampling: Sampling { max_tokens: 1, ..Sampling::default() },
            seed: request,
        })
        .collect();
    let generator = Generator { model: &model, population: None, tokenizer: None };
    let options = GenerationOptions { prefill_tokens: TOKENS as usize, ..GenerationOptions::default() };
    let run = |requests: &[GenerationRequest]| drop(generator.generate(requests, &options, &mut |_| ()).unwrap());
    // A small run first, to load code and fill libtorch's caches.
    run(&requests[..1]);
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS");
    run(&requests);
    let measured = status("VmHWM") - before;
    // Four layers' keys and values, with two heads of 64, of all prompts; a slot's capacity has room for the next token.
    let cache = PROMPTS * (TOKENS + 64) * 4 * 2 * 2 * 64 * 4;
    println!("measured {} KiB, the cache takes {} KiB", measured >> 10, cache >> 10);
    // One pass takes 10 MiB at its peak, and the passes of all prompts held 64 MiB.
    assert!(measured < cache + (24 << 20), "{measured} of {cache}");
}
