//! Statistics and invariants of the stochastic operators.

use std::collections::BTreeSet;

use lyceum_engine::evolve::{Draws as _, Kernel, Module, Notes, Seeded, Svd};
use proptest::prelude::*;

use crate::evolution::modules::{apart, child, module, update, wide};

const VALUES: f64 = 128_000.0;

/// Modules with many values, so that fractions are precise: four standard deviations of a fraction are below 0.006.
fn large(seed: u64) -> Module {
    module(8, 16_000, 16, seed)
}

fn zeros(values: &[f32]) -> f64 {
    values.iter().filter(|&&value| value == 0.0).count() as f64
}

#[test]
fn dare_drops_its_share_and_keeps_the_expectation() {
    for p in [0.0, 0.3, 0.7, 0.95] {
        let made = child("X1", &[("p", p)], vec![large(1), large(2)], 3);
        // A value is zero if both parents' values were dropped.
        assert!((zeros(&made.a) / VALUES - p * p).abs() < 0.006, "{p}");
        let mean = |values: &[f32]| values.iter().map(|&value| f64::from(value)).sum::<f64>();
        let parents = Module { a: vec![1.0; VALUES as usize], ..large(1) };
        let ones = child("X1", &[("p", p)], vec![parents.clone(), parents], 3);
        assert!((mean(&ones.a) / VALUES - 1.0).abs() < 0.06, "{p}");
    }
}

#[test]
fn della_drops_small_values_more_often() {
    for epsilon in [0.0, 0.1, 0.6] {
        let (first, second) = (large(1), large(2));
        let made = child("X7", &[("epsilon", epsilon)], vec![first.clone(), second.clone()], 3);
        // The mean of p(r)² over independent ranks of the two parents is the square of the mean.
        let dropped = (1.0 + epsilon) / 2.0;
        assert!((zeros(&made.a) / VALUES - dropped * dropped).abs() < 0.006, "{epsilon}");
        let largest =
            |values: &[f32]| (0..values.len()).max_by(|&x, &y| values[x].abs().total_cmp(&values[y].abs())).unwrap();
        if epsilon == 0.0 {
            assert!(made.a[largest(&first.a)] != 0.0, "the largest value is never dropped");
        }
    }
}

#[test]
fn m2_changes_exactly_its_share_of_the_modules() {
    let operator = lyceum_core::evolution::operator("M2").unwrap();
    for (f, expected) in [(0.0, 0), (0.01, 1), (0.33, 37), (0.5, 56), (1.0, 112)] {
        let parameters = operator.resolve(&[("f".to_owned(), f)].into()).unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..5 {
            let kernel = Kernel::new(operator, &parameters, 112, 2, &mut Seeded::new(seed, "child")).unwrap();
            let changed: Vec<usize> = (0..112)
                .filter(|&index| {
                    let parent = module(2, 5, 7, index as u64);
                    let mut draws = Seeded::new(seed, &index.to_string());
                    kernel.child(index, vec![parent.clone()], &mut draws, &Notes::default()).unwrap() != parent
                })
                .collect();
            assert_eq!(changed.len(), expected, "f {f}");
            seen.insert(changed);
        }
        assert!(seen.len() > 1 || expected % 112 == 0, "the choice depends on the seed");
    }
}

#[test]
fn gaussian_noise_has_the_deviation_that_was_asked_for() {
    let parent = large(1);
    let made = child("M4", &[("epsilon", 0.2)], vec![parent.clone()], 3);
    let deviation =
        |values: &[f64]| (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt();
    let noise: Vec<f64> = made.a.iter().zip(&parent.a).map(|(x, y)| f64::from(x - y)).collect();
    assert!((deviation(&noise) / deviation(&wide(&parent.a)) - 0.2).abs() < 0.003);
}

#[test]
fn neftune_noise_is_uniform_within_its_bound_and_leaves_b_alone() {
    let parent = large(1);
    let made = child("M5", &[], vec![parent.clone()], 3);
    let bound = 10.0 / VALUES.sqrt();
    let noise: Vec<f64> = made.a.iter().zip(&parent.a).map(|(x, y)| f64::from(x - y)).collect();
    assert!(noise.iter().all(|value| value.abs() <= bound * 1.0001));
    let mean_square = noise.iter().map(|value| value * value).sum::<f64>() / VALUES;
    assert!((mean_square * 3.0 / (bound * bound) - 1.0).abs() < 0.02);
    assert_eq!(made.b, parent.b);
}

#[test]
fn draws_are_uniform_and_normal() {
    let mut draws = Seeded::new(1, "draws");
    let mut counts = [0.0; 5];
    for _ in 0..20_000 {
        counts[draws.index(5)] += 1.0;
    }
    let chi_square: f64 = counts.iter().map(|count: &f64| (count - 4000.0).powi(2) / 4000.0).sum();
    // 99.9 % of the chi-square distribution with four degrees of freedom.
    assert!(chi_square < 18.47);
    let mut normals = vec![0.0; 100_000];
    draws.normals(&mut normals);
    let inside = normals.iter().filter(|value| value.abs() < 1.0).count() as f64 / 100_000.0;
    assert!((inside - 0.6827).abs() < 0.006);
}

fn singular_values(module: &Module) -> Vec<f64> {
    Svd::of(module).map_or_else(Vec::new, |svd| svd.s)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn m3_zeroes_its_share_of_the_values(rank in 1usize..10, rho in 0.0..1.0, seed: u64) {
        let parent = module(rank, 30, 40, seed);
        let made = child("M3", &[("rho", rho)], vec![parent.clone()], seed);
        let left = singular_values(&made).iter().filter(|&&s| s > 1e-6).count();
        prop_assert_eq!(left, rank - (rho * rank as f64).ceil() as usize);
        // The remaining values are the parent's.
        let before = singular_values(&parent);
        for s in singular_values(&made).into_iter().filter(|&s| s > 1e-6) {
            prop_assert!(before.iter().any(|other| (other - s).abs() < 1e-4 * before[0]));
        }
    }

    #[test]
    fn m6_keeps_the_top_and_its_directions(rank in 3usize..10, seed: u64) {
        let parent = module(rank, 30, 40, seed);
        let made = child("M6", &[("k", 2.0), ("sigma", 0.0)], vec![parent.clone()], seed);
        let (before, after) = (singular_values(&parent), singular_values(&made));
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            let kept = index < rank - 2;
            prop_assert!(kept && (before / after - 1.0).abs() < 1e-4 || !kept && *after < 1e-6);
        }
    }

    #[test]
    fn x3_takes_k_components_of_the_first_parent(rank in 2usize..9, seed: u64) {
        let (first, second) = (module(rank, 30, 40, seed), module(rank, 30, 40, seed.wrapping_add(1)));
        let made = child("X3", &[], vec![first.clone(), second.clone()], seed);
        let (top, tail) = (Svd::of(&first).unwrap(), Svd::of(&second).unwrap());
        let is_of = |svd: &Svd, component: usize| {
            let column = |values: &[f32], scale: f64| -> Vec<f64> {
                values.iter().skip(component).step_by(rank).map(|&value| scale * f64::from(value)).collect()
            };
            apart(&column(&made.b, 1.0), &column(&svd.u, svd.s[component].sqrt())) < 1e-5
        };
        let k = (0..rank).take_while(|&component| is_of(&top, component)).count();
        prop_assert!((1..rank).contains(&k));
        prop_assert!((k..rank).all(|component| is_of(&tail, component)));
    }

    #[test]
    fn x4_lies_beyond_the_second_parent(seed: u64) {
        let (first, second) = (module(4, 20, 30, seed), module(4, 20, 30, seed.wrapping_add(1)));
        let made = child("X4", &[], vec![first.clone(), second.clone()], seed);
        let steps = |module: &Module| -> Vec<f64> {
            module.a.iter().zip(&first.a).map(|(x, y)| f64::from(*x) - f64::from(*y)).collect()
        };
        let (made, whole) = (steps(&made), steps(&second));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let eta = dot(&made, &whole) / dot(&whole, &whole);
        prop_assert!((1.0..=1.5).contains(&(eta + 1e-7)), "{}", eta);
        let along: Vec<f64> = whole.iter().map(|step| eta * step).collect();
        prop_assert!(apart(&made, &along) < 1e-5);
    }

    #[test]
    fn x2_takes_each_module_whole(seed: u64) {
        let (first, second) = (module(4, 20, 30, 1), module(4, 20, 30, 2));
        let made = child("X2", &[], vec![first.clone(), second.clone()], seed);
        prop_assert!(made == first || made == second);
    }

    #[test]
    fn no_child_has_more_rank_than_its_parents(seed: u64, which in 0usize..17) {
        let operator = &lyceum_core::evolution::CATALOGUE[which];
        let parents = [module(4, 20, 30, seed), module(4, 20, 30, seed.wrapping_add(1))];
        let made = child(operator.name, &[], parents[..operator.arity].to_vec(), seed);
        prop_assert_eq!((made.a.len(), made.b.len(), made.rank), (80, 120, 4));
        prop_assert!(update(&made).iter().all(|value| value.is_finite()));
        let again = child(operator.name, &[], parents[..operator.arity].to_vec(), seed);
        prop_assert!(made == again, "the same seed gives the same child");
        let other = child(operator.name, &[], parents[..operator.arity].to_vec(), seed.wrapping_add(1));
        prop_assert!(operator.name == "X2" || operator.name == "M3" || operator.name == "X3" || (other != made) == operator.stochastic);
    }
}
