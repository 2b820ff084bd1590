//! Last logits and log-probabilities against transformers and peft.

use std::path::Path;

use lyceum_core::work::Dtype;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use lyceum_engine::weights::Checkpoint;
use lyceum_engine::{Model, Placement, Population};
use tch::{Kind, Tensor};

use crate::device::placement;
use crate::engine::fixtures::{FULL_SET, Golden, MODELS, OTHERS, STACKED, difference, model, model_folder, population};

const TOLERANCE: f32 = 1e-4;
const LAST_LOGITS: ScoreOptions = ScoreOptions { tokens_per_pass: 16_384, last_logits: true };

fn request(ids: &[i64], adapter: Option<usize>) -> ScoreRequest {
    ScoreRequest { ids: ids.to_vec(), adapter }
}

/// Scores `rows` (sequence index, adapter index) in one padded batch and compares each with its golden case.
fn assert_batch(
    model: &Model,
    population: Option<&Population>,
    cases: &[&str],
    golden: &Golden,
    rows: &[(usize, Option<usize>)],
) {
    let sequences = golden.sequences();
    let requests: Vec<_> = rows.iter().map(|&(sequence, adapter)| request(&sequences[sequence], adapter)).collect();
    let scores = score(model, population, &requests, LAST_LOGITS).unwrap();
    for (&(sequence, adapter), score) in rows.iter().zip(scores) {
        let case = adapter.map_or("base", |adapter| cases[adapter]);
        let logits = difference(&score.last_logits.unwrap(), &golden.floats(&format!("{case}/{sequence}/last_logits")));
        let logprobs = difference(&score.logprobs, &golden.floats(&format!("{case}/{sequence}/logprobs")));
        assert!(logits < TOLERANCE && logprobs < TOLERANCE, "{case}/{sequence}: logits {logits}, logprobs {logprobs}");
    }
}

#[test]
fn the_bare_base_matches_transformers_alone_and_padded() {
    for name in MODELS {
        let (model, golden) = (model(name), Golden::of(name));
        for sequence in 0..4 {
            assert_batch(&model, None, &[], &golden, &[(sequence, None)]);
        }
        assert_batch(&model, None, &[], &golden, &[(0, None), (1, None), (2, None), (3, None)]);
    }
}

#[test]
fn a_stacked_population_matches_peft_in_equal_groups() {
    for name in MODELS {
        let (model, golden) = (model(name), Golden::of(name));
        let population = population(&model, name, &STACKED);
        let rows: Vec<_> = (0..12).map(|row| (row % 4, Some(row / 4))).collect();
        assert_batch(&model, Some(&population), &STACKED, &golden, &rows);
        assert_batch(&model, Some(&population), &STACKED, &golden, &[(2, Some(1)), (0, Some(2))]);
    }
}

#[test]
fn a_stacked_population_matches_peft_in_ragged_groups_with_bare_rows_between() {
    for name in MODELS {
        let (model, golden) = (model(name), Golden::of(name));
        let population = population(&model, name, &STACKED);
        let rows = [(3, Some(2)), (0, None), (1, Some(0)), (2, Some(2)), (2, None), (0, Some(2)), (3, Some(0))];
        assert_batch(&model, Some(&population), &STACKED, &golden, &rows);
    }
}

#[test]
fn every_set_of_projections_matches_peft() {
    for name in FULL_SET {
        let (model, golden) = (model(name), Golden::of(name));
        for case in OTHERS {
            let population = population(&model, name, &[case]);
            let adapted: Vec<_> = (0..4).map(|sequence| (sequence, Some(0))).collect();
            assert_batch(&model, Some(&population), &[case], &golden, &adapted);
            assert_batch(&model, Some(&population), &[case], &golden, &[(0, None), (1, Some(0)), (2, Some(0))]);
        }
    }
}

/// bf16 keeps eight bits. The engine and transformers round in different places, so both are compared with the fp32
/// result: the engine's error may be at most twice that of transformers' own bf16.
#[test]
fn bf16_is_as_near_to_fp32_as_transformers_own() {
    for name in MODELS {
        let golden = Golden::of(name);
        let placement = Placement { dtype: Dtype::Bf16, ..placement() };
        let model = Model::load(&model_folder(name), placement).unwrap();
        let population = population(&model, name, &STACKED);
        let sequences = golden.sequences();
        let (mut ours, mut theirs) = (0.0, 0.0);
        for (adapter, case) in [(None, "base"), (Some(0), "all-0"), (Some(1), "all-1"), (Some(2), "all-2")] {
            for (index, ids) in sequences.iter().enumerate() {
                let scores = score(&model, Some(&population), &[request(ids, adapter)], LAST_LOGITS).unwrap();
                let exact = golden.floats(&format!("{case}/{index}/last_logits"));
                ours += mean_square(&scores[0].last_logits.clone().unwrap(), &exact);
                theirs += mean_square(&golden.floats(&format!("{case}/{index}/bf16_last_logits")), &exact);
            }
        }
        let ratio = f64::sqrt(ours / theirs);
        assert!(ratio < 2.0, "{name}: {ratio:.2} times transformers' bf16 error");
    }
}

/// Weights stored in 16 bits keep their rounded values.
#[test]
fn a_checkpoint_of_16_bit_floats_is_its_fp32_copy() {
    let name = "qwen2-untied-sharded";
    let requests: Vec<_> = Golden::of(name).sequences().iter().map(|ids| request(ids, None)).collect();
    let scores = |folder: &Path| {
        let model = Model::load(folder, placement()).unwrap();
        score(&model, None, &requests, LAST_LOGITS).unwrap()
    };
    let exact = scores(&model_folder(name));
    for kind in [Kind::BFloat16, Kind::Half] {
        let (short, long) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for entry in std::fs::read_dir(model_folder(name)).unwrap() {
            let path = entry.unwrap().path();
            let to = |folder: &Path| folder.join(path.file_name().unwrap());
            if path.extension().is_some_and(|extension| extension == "safetensors") {
                let tensors = Tensor::read_safetensors(&path).unwrap();
                let rounded: Vec<_> = tensors.iter().map(|(name, values)| (name, values.to_kind(kind))).collect();
                Tensor::write_safetensors(&rounded, to(short.path())).unwrap();
                let copied: Vec<_> = rounded.iter().map(|(name, values)| (name, values.to_kind(Kind::Float))).collect();
                Tensor::write_safetensors(&copied, to(long.path())).unwrap();
            } else {
                std::fs::copy(&path, to(short.path())).unwrap();
                std::fs::copy(&path, to(long.path())).unwrap();
            }
        }
        let stored = Checkpoint::from_model_folder(short.path()).unwrap();
        assert_eq!(stored.read("lm_head.weight").unwrap().values.kind(), kind);
        let rounded = scores(short.path());
        assert_eq!(rounded, scores(long.path()), "{kind:?}");
        assert_ne!(rounded, exact, "{kind:?}");
    }
}

fn mean_square(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(l, r)| f64::from(l - r).powi(2)).sum::<f64>() / left.len() as f64
}

/// Eight members in one batch: each result equals that of the member run separately and does not change with another member's
/// adapter and sequences.
#[test]
fn members_neither_need_nor_disturb_each_other() {
    let name = "qwen3-wide-heads";
    let (model, golden) = (model(name), Golden::of(name));
    let names: Vec<&str> = (0..8).map(|member| STACKED[member % 3]).collect();
    let eight = population(&model, name, &names);
    let sequences = golden.sequences();
    let requests: Vec<_> = (0..16).map(|row| request(&sequences[row % 4], Some(row / 2))).collect();
    let together = score(&model, Some(&eight), &requests, LAST_LOGITS).unwrap();
    for member in 0..8 {
        let single = population(&model, name, &names[member..=member]);
        for row in [2 * member, 2 * member + 1] {
            let alone = score(&model, Some(&single), &[request(&requests[row].ids, Some(0))], LAST_LOGITS).unwrap();
            let apart = difference(together[row].last_logits.as_ref().unwrap(), alone[0].last_logits.as_ref().unwrap());
            assert!(apart < 1e-5, "member {member}: {apart}");
        }
    }
    let mut changed = requests.clone();
    for row in 2..16 {
        changed[row].ids = sequences[(row + 1) % 4].clone();
    }
    let names: Vec<&str> =
        (0..8).map(|member| if member == 0 { names[0] } else { STACKED[(member + 1) % 3] }).collect();
    let others = population(&model, name, &names);
    let after = score(&model, Some(&others), &changed, LAST_LOGITS).unwrap();
    for row in 0..2 {
        assert_eq!(together[row].logprobs.len(), after[row].logprobs.len());
        assert!(difference(&together[row].logprobs, &after[row].logprobs) < 1e-6, "row {row} moved");
    }
}
