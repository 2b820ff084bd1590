//! Pretrained models compared with transformers and peft: those of `script/real-model` that are in the folder
//! `LYCEUM_REAL_MODELS`. What these compute in fp32 is in `fixtures/real-models` (`fixtures/make_real_models.py`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lyceum_core::work::{Dtype, LoraShape, Loss, Optimizer, PolicyLoss, Projection, Sampling};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{OptimizerState, TrainedTensor, TrainingSequence, Update, UpdateOptions};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement, Population};
use serde::Deserialize;
use tch::{Device, Kind, Tensor};

use crate::engine::fixtures::folder;

#[derive(Deserialize)]
struct Golden {
    prompts: Vec<Prompt>,
    update: GoldenUpdate,
}

#[derive(Deserialize)]
struct Prompt {
    text: String,
    ids: Vec<i64>,
    /// Of every token but the first.
    logprobs: Vec<f32>,
    /// The largest after the text.
    logits: BTreeMap<usize, f32>,
    greedy: Vec<i64>,
    /// How far transformers' own log-probabilities in bf16 are from those in fp32, on average.
    bf16_error: f32,
}

#[derive(Deserialize)]
struct GoldenUpdate {
    lora: Lora,
    optimizer: serde_json::Value,
    loss: Clip,
    sequences: Vec<Sequence>,
    policy_loss: f64,
    grad_norm: f64,
    tensors: Vec<GoldenTensor>,
}

#[derive(Deserialize)]
struct Lora {
    rank: u32,
    alpha: f64,
}

#[derive(Deserialize)]
struct Clip {
    clip_low: f64,
    clip_high: f64,
}

#[derive(Deserialize)]
struct Sequence {
    prompt_ids: Vec<i64>,
    ids: Vec<i64>,
    logprobs: Vec<f32>,
    advantage: f32,
}

#[derive(Deserialize)]
struct GoldenTensor {
    name: String,
    gradient: Summary,
    change: Summary,
}

/// What is known of a tensor: its norm, and sums of its values with signs.
#[derive(Deserialize)]
struct Summary {
    norm: f64,
    projections: Vec<f64>,
}

impl Summary {
    /// An estimate of the norm of the difference, as a share of this norm: the mean square of the projections of a difference on
    /// random signs is an unbiased estimate of its squared norm.
    fn relative_difference(&self, found: &Tensor) -> f64 {
        let values: Vec<f64> = Vec::try_from(found.to_kind(Kind::Double).flatten(0, -1)).unwrap();
        let mut sums = vec![0.0; self.projections.len()];
        for (value, index) in values.iter().zip(1_u64..) {
            let bits = splitmix64(index);
            for (direction, sum) in sums.iter_mut().enumerate() {
                *sum += if bits >> direction & 1 == 1 { -value } else { *value };
            }
        }
        let squares = sums.iter().zip(&self.projections).map(|(found, expected)| (found - expected).powi(2));
        (squares.sum::<f64>() / sums.len() as f64).sqrt() / self.norm
    }
}

/// The output for a state of `index` increments.
fn splitmix64(index: u64) -> u64 {
    let state = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let state = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ state >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ state >> 31
}

/// Calls `check` for each model that is there.
fn of_each_model(check: impl Fn(&str, &Path, Golden)) {
    let Some(models) = std::env::var_os("LYCEUM_REAL_MODELS").map(PathBuf::from) else {
        eprintln!("skipped: LYCEUM_REAL_MODELS is not set; script/real-model makes its folder");
        return;
    };
    let known: Vec<PathBuf> =
        std::fs::read_dir(folder().join("real-models")).unwrap().map(|file| file.unwrap().path()).collect();
    let mut checked = 0;
    for golden in &known {
        let name = golden.file_stem().unwrap().to_str().unwrap();
        let model = models.join(name);
        if model.is_dir() {
            let golden = serde_json::from_str(&std::fs::read_to_string(golden).unwrap()).unwrap();
            check(name, &model, golden);
            checked += 1;
        }
    }
    assert!(checked > 0, "{} has none of {known:?}", models.display());
}

fn load(folder: &Path, dtype: Dtype) -> Model {
    Model::load(folder, Placement::new("cpu", dtype).unwrap()).unwrap()
}

/// The largest and the mean difference between the model's log-probabilities and the golden ones, and the largest of the logits.
fn differences(model: &Model, prompts: &[Prompt]) -> (f32, f32, f32) {
    let requests: Vec<_> = prompts.iter().map(|row| ScoreRequest { ids: row.ids.clone(), adapter: None }).collect();
    let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
    let scores = score(model, None, &requests, options).unwrap();
    let (mut apart, mut logits) = (Vec::new(), 0.0_f32);
    for (row, score) in prompts.iter().zip(&scores) {
        assert_eq!(row.logprobs.len(), score.logprobs.len());
        apart.extend(row.logprobs.iter().zip(&score.logprobs).map(|(expected, found)| (expected - found).abs()));
        let last = score.last_logits.as_ref().unwrap();
        logits = row.logits.iter().fold(logits, |largest, (&id, expected)| largest.max((last[id] - expected).abs()));
    }
    let mean = apart.iter().sum::<f32>() / apart.len() as f32;
    (apart.into_iter().fold(0.0, f32::max), mean, logits)
}

/// How many of the prompts have the golden greedy continuation.
fn greedy_as_golden(model: &Model, tokenizer: &Tokenizer, prompts: &[Prompt]) -> usize {
    let generator = Generator { model, population: None, tokenizer: Some(tokenizer) };
    let request = |row: &Prompt| GenerationRequest {
        id: row.text.clone(),
        prompt: row.ids.clone(),
        adapter: None,
        n: 1,
        sampling: Sampling {
            temperature: 0.0,
            max_tokens: row.greedy.len() as u32,
            ignore_eos: true,
            ..Sampling::default()
        },
        seed: 0,
    };
    let requests: Vec<_> = prompts.iter().map(request).collect();
    let generated = generator.generate(&requests, &GenerationOptions::default(), &mut |_| ()).unwrap();
    prompts.iter().zip(&generated.results).filter(|(row, result)| result.completions[0].ids == row.greedy).count()
}

#[test]
fn real_models_have_the_ids_logits_and_greedy_tokens_of_transformers() {
    of_each_model(|name, folder, golden| {
        let model = load(folder, Dtype::Fp32);
        let tokenizer = Tokenizer::load(folder, &model.config).unwrap();
        for row in &golden.prompts {
            // Long texts were cut.
            assert!(tokenizer.encode(&row.text).unwrap().starts_with(&row.ids), "{name}, {}", row.text);
        }
        let (largest, _, logits) = differences(&model, &golden.prompts);
        println!("{name}, fp32: log-probabilities at most {largest:.1e} apart, logits {logits:.1e}");
        assert!(largest < 1e-3 && logits < 1e-3, "{name}: {largest}, {logits}");
        let equal = greedy_as_golden(&model, &tokenizer, &golden.prompts);
        assert_eq!(equal, golden.prompts.len(), "{name}: prompts with the same greedy tokens");
    });
}

#[test]
fn in_bf16_real_models_are_as_near_to_fp32_as_transformers_in_bf16() {
    of_each_model(|name, folder, golden| {
        let model = load(folder, Dtype::Bf16);
        let tokenizer = Tokenizer::load(folder, &model.config).unwrap();
        let (largest, mean, _) = differences(&model, &golden.prompts);
        let tokens = golden.prompts.iter().map(|row| row.logprobs.len() as f32);
        let theirs: f32 = golden.prompts.iter().map(|row| row.bf16_error * row.logprobs.len() as f32).sum();
        let theirs = theirs / tokens.sum::<f32>();
        let equal = greedy_as_golden(&model, &tokenizer, &golden.prompts);
        let of = golden.prompts.len();
        println!(
            "{name}, bf16: {mean:.4} apart on average (transformers {theirs:.4}), at most {largest:.3}; {equal} of {of} greedy"
        );
        assert!(mean < 1.25 * theirs, "{name}: {mean}, transformers {theirs}");
    });
}

/// Factors whose values follow from their position, as in `make_real_models.py`.
fn positional_population(model: &Model, lora: &Lora) -> Population {
    let shape =
        LoraShape { r: lora.rank, lora_alpha: lora.alpha, use_rslora: false, target_modules: Projection::ALL.to_vec() };
    let population = Population::initialise(&model.config, shape, 1, 0, Device::Cpu).unwrap();
    let mut tensors = TrainedTensor::of_population(&population);
    tensors.sort_by(|left, right| left.name.cmp(&right.name));
    for (seed, tensor) in tensors.iter_mut().enumerate() {
        let scale = if tensor.name.ends_with('A') { 0.02 } else { 0.002 };
        let values: Vec<f32> =
            (0..tensor.values.numel()).map(|i| (scale * (seed as f64 + 0.37 * i as f64).sin()) as f32).collect();
        let values = Tensor::from_slice(&values).reshape(tensor.values.size());
        tensor.values.copy_(&values);
    }
    population
}

#[test]
fn a_grpo_update_of_a_real_model_is_that_of_peft_and_autograd() {
    of_each_model(|name, folder, golden| {
        let golden = golden.update;
        let model = load(folder, Dtype::Fp32);
        let population = positional_population(&model, &golden.lora);
        let sequence = |(row, id): (Sequence, usize)| TrainingSequence {
            id: id.to_string(),
            prompt: row.prompt_ids,
            completion: row.ids,
            logprobs: row.logprobs,
            advantage: row.advantage,
        };
        let sequences = [golden.sequences.into_iter().zip(0..).map(sequence).collect::<Vec<_>>()];
        let Clip { clip_low, clip_high } = golden.loss;
        let options = UpdateOptions {
            loss: Loss::PolicyGradient(PolicyLoss {
                clip_low,
                clip_high,
                clip_dual: None,
                entropy: 0.0,
                kl: 0.0,
                ..PolicyLoss::default()
            }),
            optimizer: serde_json::from_value::<Optimizer>(golden.optimizer).unwrap(),
            ..UpdateOptions::default()
        };
        let update = Update { model: &model, options: &options, reference: None };
        let piece = update.gradient_piece(&population, &sequences, 0, 1, &mut |_| ()).unwrap();
        let expected: BTreeMap<&str, &GoldenTensor> =
            golden.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
        let gradients = Differences::of(piece.tensors().map(|(tensor, gradient)| {
            let apart = expected[tensor].gradient.relative_difference(gradient);
            (apart, tensor.to_owned())
        }));
        let trained = TrainedTensor::of_population(&population);
        let updated = update.apply(&population, &OptimizerState::new(&trained).unwrap(), &[piece]).unwrap();
        let after = TrainedTensor::of_population(&updated.population);
        let changes = Differences::of(trained.iter().zip(&after).map(|(before, after)| {
            let change = &after.values - &before.values;
            let expected = &expected[after.name.as_str()].change;
            (expected.relative_difference(&change), after.name.clone())
        }));
        let found = &updated.diagnostics[0];
        let relative = |found: f64, expected: f64| (found / expected - 1.0).abs();
        let loss = relative(found.policy_loss, golden.policy_loss);
        let norm = relative(found.grad_norm, golden.grad_norm);
        println!("{name}: loss {loss:.1e}, gradient norm {norm:.1e} apart; gradients: {gradients}; changes: {changes}");
        assert_eq!((gradients.count, changes.count), (expected.len(), expected.len()));
        let largest = [loss, norm, gradients.largest, changes.largest];
        assert!(largest.iter().all(|apart| *apart < 1e-3), "{name}: {largest:?}");
    });
}

/// By how much tensors differ, relative to their norms.
struct Differences {
    count: usize,
    largest: f64,
    tensor: String,
}

impl Differences {
    fn of(apart: impl Iterator<Item = (f64, String)>) -> Self {
        let none = Self { count: 0, largest: 0.0, tensor: String::new() };
        apart.fold(none, |found, (apart, tensor)| {
            let count = found.count + 1;
            if apart > found.largest { Self { count, largest: apart, tensor } } else { Self { count, ..found } }
        })
    }
}

impl std::fmt::Display for Differences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "at most {:.1e}, {}, of {}", self.largest, self.tensor, self.count)
    }
}
