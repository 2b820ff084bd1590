//! What an observer learns of texts.

use lyceum_core::diversity::ObserverLosses;
use lyceum_core::work::{Dtype, LoraShape, Observer, Projection};
use lyceum_engine::Model;
use lyceum_engine::observe::{Observed, observe};
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};

use crate::learning::fixtures::model;

const VOCABULARY: i64 = 48;

fn observer() -> Observer {
    Observer {
        lora: LoraShape { r: 8, lora_alpha: 16.0, target_modules: Projection::ALL.to_vec(), use_rslora: false },
        learning_rate: 2e-2,
        batch: 4,
        epochs: 6,
        ..Observer::default()
    }
}

/// The base with a small vocabulary and sharp preferences.
fn base() -> Model {
    let mut model = model("qwen2-tied", Dtype::Fp32);
    model.config.vocab_size = VOCABULARY;
    model.embed_tokens = model.embed_tokens.narrow(0, 0, VOCABULARY);
    model.lm_head = &model.embed_tokens * 8.0;
    model
}

/// Texts that count up from different starts, with different steps.
fn varied() -> Vec<Vec<i64>> {
    (0..96).map(|text| (0..10).map(|at| (5 * text + at * (1 + text % 7)) % VOCABULARY).collect()).collect()
}

/// What the base itself would write after these starts.
fn known(model: &Model) -> Vec<Vec<i64>> {
    let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
    let mut texts: Vec<Vec<i64>> = (0..96).map(|text| vec![text % VOCABULARY]).collect();
    for _ in 1..10 {
        let requests: Vec<ScoreRequest> =
            texts.iter().map(|ids| ScoreRequest { ids: ids.clone(), adapter: None }).collect();
        let scores = score(model, None, &requests, options).unwrap();
        for (ids, score) in texts.iter_mut().zip(scores) {
            let logits = score.last_logits.unwrap();
            let best = (0..logits.len()).max_by(|one, other| logits[*one].total_cmp(&logits[*other]));
            ids.push(best.unwrap() as i64);
        }
    }
    texts
}

fn losses(model: &Model, texts: &[Vec<i64>], observer: &Observer) -> ObserverLosses {
    let (validation, texts) = texts.split_at(4);
    observe(model, Observed { texts, validation }, observer, 3, &mut |_| ()).unwrap()
}

fn bits(model: &Model, texts: &[Vec<i64>]) -> f64 {
    losses(model, texts, &observer()).epiplexity().unwrap().bits
}

#[test]
fn there_is_more_to_learn_of_varied_texts_than_of_repeated_or_known_ones() {
    let model = base();
    let varied = varied();
    let repeated = vec![varied[5].clone(); varied.len()];
    let [of_varied, of_repeated, of_known] = [&varied, &repeated, &known(&model)].map(|texts| bits(&model, texts));
    assert!(of_varied > 1.25 * of_repeated, "{of_varied} and {of_repeated}");
    assert!(of_varied > 1.25 * of_known, "{of_varied} and {of_known}");
    assert_eq!(bits(&model, &varied), of_varied, "not the same again");
}

#[test]
fn an_observer_that_does_not_learn_finds_nothing() {
    let model = base();
    let idle = Observer { learning_rate: 0.0, patience: 1, ..observer() };
    let found = losses(&model, &varied(), &idle);
    assert_eq!((found.tokens, found.validation_tokens), (92 * 9, 4 * 9));
    assert_eq!(found.passes.len(), 2, "the second pass is no better");
    let requests: Vec<ScoreRequest> =
        varied()[4..].iter().map(|ids| ScoreRequest { ids: ids.clone(), adapter: None }).collect();
    let scores = score(&model, None, &requests, ScoreOptions::default()).unwrap();
    let of_base: f64 = scores.iter().flat_map(|score| &score.logprobs).map(|logprob| -f64::from(*logprob)).sum();
    assert!((found.online - of_base).abs() < 1e-4 * of_base, "{} and {of_base}", found.online);
    let epiplexity = found.epiplexity().unwrap();
    assert!(epiplexity.bits.abs() < 1e-3 * of_base, "{epiplexity:?}");
}

#[test]
fn texts_without_anything_to_predict_are_left_out() {
    let model = base();
    let found = losses(&model, &vec![vec![1]; 8], &observer());
    assert_eq!((found.tokens, found.epiplexity()), (0, None));
}
