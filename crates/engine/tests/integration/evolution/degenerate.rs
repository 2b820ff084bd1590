//! Degenerate parents: zero adapters, parallel parents, lost rank.

use lyceum_core::evolution::CATALOGUE;
use lyceum_engine::evolve::{Module, Svd};

use crate::evolution::modules::{apart, child, module, update, wide};

fn fresh(seed: u64) -> Module {
    let module = module(4, 20, 30, seed);
    Module { b: vec![0.0; module.b.len()], ..module }
}

#[test]
fn a_fresh_adapter_is_copied_by_the_operators_on_its_spectrum() {
    for name in ["M1", "M3", "M6"] {
        assert_eq!(child(name, &[], vec![fresh(1)], 9), fresh(1), "{name}");
    }
    assert_eq!(child("X3", &[], vec![fresh(1), fresh(2)], 9), fresh(1));
}

#[test]
fn where_one_parent_is_zero_x3_copies_the_other() {
    let trained = module(4, 20, 30, 3);
    assert_eq!(child("X3", &[], vec![fresh(1), trained.clone()], 9), trained);
    assert_eq!(child("X3", &[], vec![trained.clone(), fresh(1)], 9), trained);
}

#[test]
fn noise_on_a_constant_factor_has_the_scale_of_a_fresh_a() {
    let parent = Module { b: vec![0.0; 40_000], ..module(4, 300, 10_000, 1) };
    for name in ["M2", "M4"] {
        let made = child(name, &[("epsilon", 0.5)], vec![parent.clone()], 9);
        let mean_square = made.b.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>() / 40_000.0;
        let expected = 0.5 / (3.0 * 300.0_f64).sqrt();
        assert!((mean_square.sqrt() / expected - 1.0).abs() < 0.02, "{name}");
    }
}

#[test]
fn every_operator_makes_finite_children_of_zero_adapters() {
    let zero = Module { rank: 4, inputs: 6, outputs: 5, a: vec![0.0; 24], b: vec![0.0; 20] };
    for operator in &CATALOGUE {
        for parents in [[&zero, &zero], [&fresh(1), &fresh(2)], [&fresh(1), &module(4, 20, 30, 3)]] {
            let parents = parents[..operator.arity].iter().map(|&parent| parent.clone()).collect();
            let made = child(operator.name, &[], parents, 4);
            assert!(made.a.iter().chain(&made.b).all(|value| value.is_finite()), "{}", operator.name);
        }
    }
}

#[test]
fn parallel_and_opposite_parents_meet_halfway_on_the_line() {
    let first = module(4, 20, 30, 3);
    for factor in [2.0, -2.0] {
        let scaled = |values: &[f32]| values.iter().map(|value| value * factor).collect();
        let second = Module { a: scaled(&first.a), b: scaled(&first.b), ..first };
        let straight = child("X5", &[("alpha", 0.75)], vec![first.clone(), second.clone()], 1);
        let sphere = child("X8", &[("t", 0.25)], vec![first.clone(), second], 1);
        assert!(apart(&wide(&sphere.a), &wide(&straight.a)) < 1e-6, "{factor}");
    }
}

#[test]
fn a_masked_component_can_be_learned_again() {
    let parent = module(8, 40, 30, 3);
    let made = child("M3", &[("rho", 0.5)], vec![parent.clone()], 1);
    for component in 0..8 {
        let column = made.b.iter().skip(component).step_by(8);
        let row = &made.a[component * 40..(component + 1) * 40];
        assert!(row.iter().any(|&value| value != 0.0), "row {component} of A is zero");
        let masked = column.clone().all(|&value| value == 0.0);
        assert!(masked || column.clone().all(|&value| value != 0.0));
    }
}

#[test]
fn lost_rank_stays_lost_and_the_rest_holds() {
    let mut parent = module(6, 40, 30, 3);
    let (first, rest) = parent.a.split_at_mut(40);
    rest[..40].copy_from_slice(first);
    assert_eq!(Svd::of(&parent).unwrap().s.iter().filter(|&&s| s > 0.0).count(), 5);
    let made = child("M6", &[("k", 0.0), ("sigma", 0.0)], vec![parent.clone()], 1);
    assert!(apart(&update(&made), &update(&parent)) < 1e-5);
}
