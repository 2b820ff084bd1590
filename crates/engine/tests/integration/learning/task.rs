//! Learning known optima: by reinforcement from generated samples, and from correct answers.

use lyceum_core::work::{Dtype, LoraShape, Loss, OldPolicy, PolicyLoss, Projection, Sampling};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{TrainingSequence, Update, UpdateOptions};
use lyceum_engine::{Model, Population};

use crate::device::device;
use crate::learning::batch::fresh;
use crate::learning::fixtures::model;

const MEMBERS: usize = 8;
const SAMPLES: usize = 64;
const PROMPTS: [i64; 2] = [1, 23];
const VOCABULARY: i64 = 48;
const STEPS: u64 = 60;

/// The token that a member is to produce for any prompt.
fn optimum(member: usize) -> i64 {
    5 + 5 * member as i64
}

/// All strings of two letters from the member's own four.
fn strings(member: usize) -> impl Iterator<Item = Vec<i64>> {
    let letter = move |at: i64| 8 + 5 * member as i64 + at;
    (0..16).map(move |at| vec![letter(at / 4), letter(at % 4)])
}

/// The base with a small vocabulary that is quickly explored. A larger `scale` separates the ids' logits better but
/// reduces exploration.
fn base(scale: f64) -> Model {
    let mut model = model("qwen2-tied", Dtype::Fp32);
    model.config.vocab_size = VOCABULARY;
    model.embed_tokens = model.embed_tokens.narrow(0, 0, VOCABULARY);
    model.lm_head = &model.embed_tokens * scale;
    model
}

/// Samples for each member's prompts.
fn sample<P: Iterator<Item = Vec<i64>>>(
    model: &Model,
    population: &Population,
    seed: u64,
    prompts: impl Fn(usize) -> P,
) -> Vec<Vec<TrainingSequence>> {
    let request = |member: usize, prompt: Vec<i64>| GenerationRequest {
        id: String::new(),
        adapter: Some(member),
        n: SAMPLES,
        sampling: Sampling { max_tokens: prompt.len() as u32, ignore_eos: true, ..Sampling::default() },
        seed: seed * 1000 + member as u64 * 100 + prompt[0] as u64,
        prompt,
    };
    let requests: Vec<_> =
        (0..MEMBERS).flat_map(|member| prompts(member).map(move |prompt| request(member, prompt))).collect();
    let options = GenerationOptions { max_slots: requests.len() * SAMPLES, ..GenerationOptions::default() };
    let generator = Generator { model, population: Some(population), tokenizer: None };
    let results = generator.generate(&requests, &options, &mut |_| ()).unwrap().results;
    let mut sequences = vec![Vec::new(); MEMBERS];
    for (request, result) in requests.iter().zip(results) {
        for completion in result.completions {
            sequences[request.adapter.unwrap()].push(TrainingSequence {
                id: String::new(),
                prompt: request.prompt.clone(),
                completion: completion.ids,
                logprobs: completion.logprobs,
                advantage: 0.0,
            });
        }
    }
    sequences
}

/// Share of optimal sequences.
fn success(member: usize, sequences: &[TrainingSequence]) -> f32 {
    let right = sequences.iter().filter(|sequence| sequence.completion == [optimum(member)]);
    right.count() as f32 / sequences.len() as f32
}

/// Reward 1 for the optimum and 0 otherwise, normalised by the mean and deviation over the prompt's samples.
fn set_advantages(member: usize, samples: &mut [TrainingSequence]) {
    let mean = success(member, samples);
    let deviation = (mean * (1.0 - mean)).sqrt() + 0.01;
    for sequence in samples {
        let reward = if sequence.completion == [optimum(member)] { 1.0 } else { 0.0 };
        sequence.advantage = (reward - mean) / deviation;
    }
}

#[test]
fn eight_members_reach_eight_different_optima_in_one_run() {
    let model = base(2.0);
    let prompts = |_| PROMPTS.into_iter().map(|id| vec![id]);
    let shape = LoraShape::new(8, 16.0, false, Projection::ALL.to_vec()).unwrap();
    let mut population = Population::initialise(&model.config, shape, MEMBERS, 7, device()).unwrap();
    let mut state = fresh(&population);
    let mut options = UpdateOptions {
        loss: Loss::PolicyGradient(PolicyLoss {
            old_policy: OldPolicy::Trainer,
            // Without this, some members start by forgetting a token that they have not yet drawn.
            entropy: 0.02,
            ..PolicyLoss::default()
        }),
        micro_batch_tokens: 4096,
        recompute: false,
        ..UpdateOptions::default()
    };
    options.optimizer.learning_rate = 5e-3;
    for step in 0..STEPS {
        let mut sequences = sample(&model, &population, step, prompts);
        for (member, of_member) in sequences.iter_mut().enumerate() {
            of_member.chunks_mut(SAMPLES).for_each(|samples| set_advantages(member, samples));
        }
        let update = Update { model: &model, options: &options, reference: None };
        let updated = update.run(&population, &state, &sequences, &mut |_| ()).unwrap();
        (population, state) = (updated.population, updated.state);
    }
    let sequences = sample(&model, &population, STEPS, prompts);
    for (member, sequences) in sequences.iter().enumerate() {
        let reached = success(member, sequences);
        assert!(reached > 0.95, "member {member} reached {reached}");
    }
}

#[test]
fn eight_members_learn_to_copy_strings_of_their_own_letters_in_one_run() {
    let model = base(4.0);
    let shape = LoraShape::new(16, 32.0, false, Projection::ALL.to_vec()).unwrap();
    let mut population = Population::initialise(&model.config, shape, MEMBERS, 7, device()).unwrap();
    let mut state = fresh(&population);
    let mut options = UpdateOptions { loss: Loss::CrossEntropy, recompute: false, ..UpdateOptions::default() };
    options.optimizer.learning_rate = 5e-3;
    let copy = |string: Vec<i64>| TrainingSequence {
        id: String::new(),
        completion: string.clone(),
        prompt: string,
        logprobs: Vec::new(),
        advantage: 0.0,
    };
    let copies: Vec<Vec<_>> = (0..MEMBERS).map(|member| strings(member).map(copy).collect()).collect();
    for _ in 0..300 {
        let update = Update { model: &model, options: &options, reference: None };
        let updated = update.run(&population, &state, &copies, &mut |_| ()).unwrap();
        (population, state) = (updated.population, updated.state);
    }
    for (member, sequences) in sample(&model, &population, 1, strings).iter().enumerate() {
        let right = sequences.iter().filter(|sequence| sequence.completion == sequence.prompt);
        let reached = right.count() as f32 / sequences.len() as f32;
        assert!(reached > 0.95, "member {member} reached {reached}");
    }
}
