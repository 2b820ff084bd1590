//! Memory that runs out at any allocation on the device: with the stand-in for CUDA (`script/gpu-standin`), which makes one of
//! them fail. Fifty allocations of each kind of work are drawn; `LYCEUM_OOM_POINTS=all` takes every one.

use std::collections::BTreeSet;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use lyceum_core::work::Sampling;
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::learn::{GradientPiece, OptimizerState, TrainedTensor, Updated};
use lyceum_engine::peft::read_population;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::{EngineError, Model, Result};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::device::{device, placement};
use crate::engine::fixtures::{STACKED, adapter_folder, difference, model, model_folder, population};
use crate::learning::batch::weights;
use crate::learning::lesson::Lesson;
use crate::standin::fail_allocation;

const NAME: &str = Lesson::BASE;

fn points(allocations: usize) -> BTreeSet<usize> {
    if std::env::var("LYCEUM_OOM_POINTS").is_ok_and(|points| points == "all") {
        return (1..=allocations).collect();
    }
    let mut random = ChaCha8Rng::seed_from_u64(1);
    (0..50).map(|_| random.random_range(1..=allocations)).collect()
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts the panics that are printed. To be called before the engine is, whose own hook leaves out those that it recovers from.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        panic::set_hook(Box::new(|info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            eprintln!("{info}");
        }));
    });
}

/// Whichever allocation of `work` fails, it gives what it gives otherwise, or an error that says what did not fit; and nothing
/// panics.
fn check<T>(work: impl Fn() -> Result<T>, assert_same: impl Fn(&T, &T)) {
    let before = fail_allocation(0);
    let whole = work().unwrap();
    let allocations = fail_allocation(0) - before;
    let mut refused = BTreeSet::new();
    let points = points(allocations);
    for &point in &points {
        fail_allocation(point);
        match work() {
            Ok(again) => assert_same(&whole, &again),
            Err(EngineError::OutOfMemory { detail, .. }) => {
                refused.insert(detail);
            }
            Err(error) => panic!("allocation {point} of {allocations}: {error}"),
        }
    }
    fail_allocation(0);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    println!("{} of {allocations} allocations failed; refusals: {refused:#?}", points.len());
}

fn rollouts(share_prompts: bool) {
    count_panics();
    let model = model(NAME);
    let stacked = population(&model, NAME, &STACKED);
    let requests: Vec<_> = (0..6)
        .map(|number| GenerationRequest {
            id: number.to_string(),
            prompt: (0..5 + 9 * number).collect(),
            adapter: [Some(0), Some(1), None][number as usize % 3],
            n: 4,
            sampling: Sampling { max_tokens: 12, top_p: 0.9, ..Sampling::default() },
            seed: number as u64,
        })
        .collect();
    let generator = Generator { model: &model, population: Some(&stacked), tokenizer: None };
    let options = GenerationOptions { max_slots: 16, share_prompts, ..GenerationOptions::default() };
    check(
        || generator.generate(&requests, &options, &mut |_| ()),
        |whole, again| {
            for (whole, again) in whole.results.iter().zip(&again.results) {
                for (whole, again) in whole.completions.iter().zip(&again.completions) {
                    assert_eq!(whole.ids, again.ids);
                    assert!(difference(&whole.logprobs, &again.logprobs) < 1e-5);
                }
            }
        },
    );
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn a_rollout_with_prompts_in_the_slots_survives_every_failed_allocation() {
    rollouts(false);
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn a_rollout_with_shared_prompts_survives_every_failed_allocation() {
    rollouts(true);
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn a_score_survives_every_failed_allocation() {
    count_panics();
    let model = model(NAME);
    let stacked = population(&model, NAME, &STACKED);
    let requests: Vec<_> = (0..6)
        .map(|number| ScoreRequest {
            ids: (0..5 + 9 * number).collect(),
            adapter: [Some(0), Some(1), None][number as usize % 3],
        })
        .collect();
    let options = ScoreOptions { tokens_per_pass: 150, last_logits: true };
    check(
        || score(&model, Some(&stacked), &requests, options),
        |whole, again| {
            for (whole, again) in whole.iter().zip(again) {
                assert!(difference(&whole.logprobs, &again.logprobs) < 1e-5);
            }
        },
    );
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn embedding_survives_every_failed_allocation() {
    count_panics();
    let model = model(NAME);
    let texts: Vec<Vec<i64>> = (0..6).map(|number| (0..5 + 9 * number).collect()).collect();
    check(
        || model.embed_texts(&texts, 150),
        |whole, again| {
            for (whole, again) in whole.iter().zip(again) {
                assert!(difference(whole, again) < 1e-5);
            }
        },
    );
}

fn assert_same_update(whole: &Updated, again: &Updated) {
    // AdamW's first step has the size of the learning rate where the gradient is not nearly 0.
    assert!(difference(&weights(&whole.population), &weights(&again.population)) < 2e-5);
    assert_eq!(whole.state.steps, again.state.steps);
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn an_update_with_clipping_survives_every_failed_allocation() {
    count_panics();
    let lesson = Lesson::new();
    let state = lesson.fresh();
    check(|| lesson.learn(&state), assert_same_update);
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn an_update_in_pieces_survives_every_failed_allocation() {
    count_panics();
    let lesson = Lesson::new();
    let (update, start) = (lesson.update(), &lesson.start);
    let (state, trained) = (lesson.fresh(), TrainedTensor::of_population(start));
    let folder = tempfile::tempdir().unwrap();
    let piece = |index: usize| {
        let path = folder.path().join(index.to_string());
        update.gradient_piece(start, &lesson.sequences, index, 2, &mut |_| ())?.write(&path)?;
        GradientPiece::read(&path, &trained)
    };
    check(|| update.apply(start, &state, &[piece(0)?, piece(1)?]), assert_same_update);
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn reading_the_state_of_the_optimizer_survives_every_failed_allocation() {
    count_panics();
    let lesson = Lesson::new();
    let updated = lesson.learn(&lesson.fresh()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folders: Vec<_> = (0..2)
        .map(|member| {
            let folder = folder.path().join(member.to_string());
            updated.state.write_member(member, &folder).unwrap();
            Some(folder)
        })
        .collect();
    let trained = TrainedTensor::of_population(&updated.population);
    check(
        || OptimizerState::read(&folders, &trained),
        |whole, again| {
            for (whole, again) in whole.moments.iter().zip(&again.moments) {
                assert!(whole.exp_avg.equal(&again.exp_avg) && whole.exp_avg_sq.equal(&again.exp_avg_sq));
            }
        },
    );
}

#[test]
#[ignore = "needs script/gpu-standin"]
fn loading_survives_every_failed_allocation() {
    count_panics();
    device();
    check(
        || {
            let model = Model::load(&model_folder(NAME), placement())?;
            let folders = STACKED.map(|name| adapter_folder(NAME, name));
            read_population(&folders, &model.config, device())
        },
        |whole, again| assert_eq!(weights(whole), weights(again)),
    );
}
