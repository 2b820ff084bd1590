//! Generation: greedy tokens compared with transformers and peft, sampling with the specified distribution, and
//! independence of the rest of the batch.

mod greedy;
mod independence;
mod refusals;
mod running;
mod sampling;
mod sharing;
mod stopping;

use lyceum_core::work::{Dtype, FinishReason, Sampling, VocabularyMask};
use lyceum_engine::generate::{
    Completion, Generated, GenerationEvent, GenerationOptions, GenerationRequest, Generator, dropped,
};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement, Population};

use crate::engine::fixtures::{FULL_SET, Golden, MODELS, OTHERS, STACKED, difference, model, model_folder, population};

/// A model for sequences of more than a GPU's first positions.
fn long_model(name: &str) -> Model {
    let mut model = model(name);
    model.config.max_position_embeddings = 512;
    model
}

/// Twelve tokens, whatever they are.
fn sampling() -> Sampling {
    Sampling { max_tokens: 12, ignore_eos: true, ..Sampling::default() }
}

fn greedy() -> Sampling {
    Sampling { temperature: 0.0, ..sampling() }
}

fn request(prompt: &[i64], adapter: Option<usize>, sampling: Sampling) -> GenerationRequest {
    GenerationRequest { id: "r".to_owned(), prompt: prompt.to_vec(), adapter, n: 1, sampling, seed: 7 }
}

fn generate(
    model: &Model,
    population: Option<&Population>,
    requests: &[GenerationRequest],
    options: &GenerationOptions,
) -> Generated {
    let generator = Generator { model, population, tokenizer: None };
    generator.generate(requests, options, &mut |_| ()).unwrap()
}

fn slots(max_slots: usize) -> GenerationOptions {
    GenerationOptions { max_slots, ..GenerationOptions::default() }
}

fn sampled(n: usize, prompt: &[i64], adapter: Option<usize>, seed: u64) -> GenerationRequest {
    GenerationRequest { n, seed, ..request(prompt, adapter, sampling()) }
}

fn assert_same(left: &[Completion], right: &[Completion]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert_eq!(left.ids, right.ids);
        assert!(difference(&left.logprobs, &right.logprobs) < 1e-5);
        assert!(difference(&left.sampling_logprobs, &right.sampling_logprobs) < 1e-5);
    }
}
