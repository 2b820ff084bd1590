//! The geometry of adapters, compared with NumPy on whole matrices (`fixtures/make_geometry.py`), and what it must not depend on.

use lyceum_core::id::VersionId;
use lyceum_core::work::Geometry;
use lyceum_engine::evolve::{Module, Parent, geometry};
use lyceum_engine::peft::AdapterFiles;
use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::Deserialize;
use uuid::Uuid;

use crate::evolution::births::adapter;
use crate::evolution::modules::module;

#[derive(Deserialize)]
struct Expected {
    norms: Vec<f64>,
    effective_ranks: Vec<f64>,
    cosines: Vec<f64>,
    distances: Vec<f64>,
}

fn measured(adapters: Vec<Parent>) -> Geometry {
    let adapters: Vec<(VersionId, Parent)> =
        (0..).map(|number| VersionId(Uuid::from_u128(number))).zip(adapters).collect();
    geometry(&adapters).unwrap()
}

/// An adapter of one layer with a module each for q_proj and v_proj.
fn adapter_of(modules: [&Module; 2], alpha: f64) -> Parent {
    let config = serde_json::json!({
        "peft_type": "LORA", "r": modules[0].rank, "lora_alpha": alpha, "target_modules": ["q_proj", "v_proj"],
    });
    let bytes = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    let factors = ["q_proj", "v_proj"].into_iter().zip(modules).flat_map(|(name, module)| {
        let key = |factor| format!("base_model.model.model.layers.0.self_attn.{name}.lora_{factor}.weight");
        [
            (key('A'), vec![module.rank, module.inputs], bytes(&module.a)),
            (key('B'), vec![module.outputs, module.rank], bytes(&module.b)),
        ]
    });
    let factors: Vec<(String, Vec<usize>, Vec<u8>)> = factors.collect();
    let views = factors
        .iter()
        .map(|(key, shape, bytes)| (key.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    let files = AdapterFiles { config: config.to_string().into_bytes(), weights: serialize(views, None).unwrap() };
    Parent::from_files("an adapter", files).unwrap()
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs().max(1e-3)
}

#[test]
fn the_three_formulas_equal_numpy_on_whole_matrices() {
    let expected: Expected = serde_json::from_str(include_str!("../../fixtures/geometry.json")).unwrap();
    let open = |name: &&str| Parent::open(&adapter(name)).unwrap();
    let found = measured(["all-0", "all-1", "all-2"].iter().map(open).collect());
    for (place, of) in found.versions.iter().enumerate() {
        assert!(near(of.norm, expected.norms[place], 1e-12), "{of:?}");
        let rank = of.effective_rank.unwrap();
        assert!(near(rank, expected.effective_ranks[place], 1e-9), "{of:?}");
    }
    for (place, of) in found.pairs.iter().enumerate() {
        assert!(near(of.cosine.unwrap(), expected.cosines[place], 1e-9), "{of:?}");
        assert!(near(of.distance, expected.distances[place], 1e-12), "{of:?}");
    }
    assert_eq!((found.versions.len(), found.pairs.len()), (3, 3));
}

#[test]
fn two_components_of_shares_three_and_one_have_the_rank_that_their_entropy_says() {
    // Singular values 3 and 1, and a module without an update, which does not count.
    let diagonal =
        Module { rank: 2, inputs: 3, outputs: 2, a: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0], b: vec![3.0, 0.0, 0.0, 1.0] };
    let zero = Module { b: vec![0.0; 4], ..diagonal.clone() };
    let found = measured(vec![
        adapter_of([&diagonal, &zero], 2.0),
        adapter_of([&zero, &zero], 2.0),
        adapter_of([&zero, &diagonal], 2.0),
    ]);
    // exp(−¾ ln ¾ − ¼ ln ¼) = 4 / 3^¾
    let rank = 4.0 / 3.0_f64.powf(0.75);
    assert!(near(found.versions[0].effective_rank.unwrap(), rank, 1e-12));
    assert!(near(found.versions[0].norm, 10.0_f64.sqrt(), 1e-12));
    assert_eq!((found.versions[1].norm, found.versions[1].effective_rank), (0.0, None));
    let [to_zero, to_other, _] = &found.pairs[..] else { panic!("three pairs") };
    assert_eq!(to_zero.cosine, None);
    assert!(near(to_zero.distance, 10.0_f64.sqrt(), 1e-12));
    assert_eq!(to_other.cosine, Some(0.0), "different modules have nothing in common");
    assert!(near(to_other.distance, 20.0_f64.sqrt(), 1e-12));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_adapter_is_like_itself_and_only_its_update_counts(rank in 1usize..6, inputs in 6usize..40, seed: u64, power in -3i32..4) {
        let [q, v, other] = [0, 1, 2].map(|number| module(rank, inputs, inputs + 3, seed.wrapping_add(number)));
        // B R and R⁻¹ A with R = diag(2^k) and the components in the opposite order: exact in fp32.
        let scales: Vec<f32> = (0..rank).map(|place| 2.0_f32.powi(power + place as i32)).collect();
        let turned = |module: &Module| Module {
            a: (0..rank).rev().flat_map(|row| {
                let scale = scales[row];
                module.a[row * inputs..(row + 1) * inputs].iter().map(move |value| value / scale)
            }).collect(),
            b: module.b.chunks_exact(rank).flat_map(|row| {
                let scaled = row.iter().zip(&scales).map(|(value, scale)| value * scale);
                scaled.rev().collect::<Vec<_>>()
            }).collect(),
            ..module.clone()
        };
        let found = measured(vec![
            adapter_of([&q, &v], 8.0),
            adapter_of([&q, &v], 8.0),
            adapter_of([&turned(&q), &turned(&v)], 8.0),
            adapter_of([&q, &v], 16.0),
            adapter_of([&other, &v], 8.0),
        ]);
        let pair = |other: usize| found.pairs[other - 1];
        prop_assert_eq!((pair(1).cosine, pair(1).distance), (Some(1.0), 0.0));
        let first = found.versions[0];
        prop_assert!(near(pair(2).cosine.unwrap(), 1.0, 1e-12));
        prop_assert!(pair(2).distance < 1e-6 * first.norm);
        for (of, norm) in [(found.versions[2], first.norm), (found.versions[3], 2.0 * first.norm)] {
            prop_assert!(near(of.norm, norm, 1e-6));
            prop_assert!(near(of.effective_rank.unwrap(), first.effective_rank.unwrap(), 1e-6));
        }
        prop_assert!(near(pair(3).cosine.unwrap(), 1.0, 1e-6));
        prop_assert!(near(pair(3).distance, first.norm, 1e-5));
        // The law of cosines.
        let (angle, of) = (pair(4).cosine.unwrap(), found.versions[4]);
        let expected = first.norm.powi(2) + of.norm.powi(2) - 2.0 * angle * first.norm * of.norm;
        prop_assert!(angle.abs() < 1.0 && near(pair(4).distance.powi(2), expected, 1e-9));
        prop_assert!((1.0 - 1e-9..=rank as f64 + 1e-9).contains(&first.effective_rank.unwrap()));
    }
}
