//! The SVD by two QR factorisations, compared with libtorch's SVD of the whole update.

use lyceum_engine::evolve::{Module, Svd};
use proptest::prelude::*;
use tch::Tensor;

use crate::evolution::modules::{apart, module, update, wide};

/// U, s and V of the whole update in fp64.
fn full(module: &Module) -> (Tensor, Tensor, Tensor) {
    Tensor::from_slice(&update(module)).reshape([module.outputs as i64, module.inputs as i64]).svd(true, true)
}

fn check(module: &Module, svd: &Svd) -> Result<(), TestCaseError> {
    let (_, s, _) = full(module);
    let mut expected = Vec::<f64>::try_from(s).unwrap();
    expected.resize(module.rank, 0.0);
    prop_assert!(apart(&svd.s, &expected) < 1e-4, "{:?}, not {expected:?}", svd.s);
    let scaled = Module {
        b: svd.u.clone(),
        a: svd
            .vt
            .chunks_exact(module.inputs)
            .zip(&svd.s)
            .flat_map(|(row, &s)| row.iter().map(move |&value| (s * f64::from(value)) as f32))
            .collect(),
        ..*module
    };
    prop_assert!(apart(&update(&scaled), &update(module)) < 1e-4);
    Ok(())
}

/// The largest distance of the inner products of the first `components` vectors from those of an orthonormal basis.
fn skew(vectors: &Tensor, components: i64) -> f64 {
    let vectors = vectors.narrow(1, 0, components);
    let gram = vectors.tr().matmul(&vectors);
    (gram - Tensor::eye(components, (tch::Kind::Double, tch::Device::Cpu))).abs().max().double_value(&[])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn it_equals_the_full_one_on_every_shape(rank in 1usize..12, inputs in 1usize..50, outputs in 1usize..50, seed: u64) {
        let module = module(rank, inputs, outputs, seed);
        check(&module, &Svd::of(&module).unwrap())?;
    }

    #[test]
    fn columns_of_very_different_lengths_and_dependent_ones_hold(
        scales in prop::collection::vec(-8.0_f32..4.0, 6),
        copied in 0usize..6,
        seed: u64,
    ) {
        let mut module = module(6, 40, 30, seed);
        for row in module.b.chunks_exact_mut(6) {
            for (value, scale) in row.iter_mut().zip(scales.iter()) {
                *value *= 10_f32.powf(*scale);
            }
            row[copied] = 2.0 * row[(copied + 1) % 6];
        }
        for (row, scale) in module.a.chunks_exact_mut(40).zip(scales.iter()) {
            row.iter_mut().for_each(|value| *value *= 10_f32.powf(-*scale));
        }
        check(&module, &Svd::of(&module).unwrap())?;
    }
}

#[test]
fn it_holds_at_the_widths_of_a_7b_model() {
    let module = module(32, 1536, 512, 5);
    let svd = Svd::of(&module).unwrap();
    check(&module, &svd).unwrap();
    let u = Tensor::from_slice(&wide(&svd.u)).reshape([512, 32]);
    let v = Tensor::from_slice(&wide(&svd.vt)).reshape([32, 1536]).tr();
    assert!(skew(&u, 32) < 1e-5 && skew(&v, 32) < 1e-5);
    // The vectors equal those of the full SVD up to sign.
    let (full_u, _, full_v) = full(&module);
    for (ours, theirs) in [(u, full_u), (v, full_v)] {
        let overlap = (ours * theirs.narrow(1, 0, 32)).sum_dim_intlist(0, false, tch::Kind::Double).abs();
        assert!((overlap - 1.0).abs().max().double_value(&[]) < 1e-4);
    }
}

#[test]
fn directions_that_almost_vanish_stay_orthogonal() {
    let mut module = module(8, 200, 100, 6);
    // Column j is column 0 and a hundredth, a thousandth, .. of its own.
    for row in module.b.chunks_exact_mut(8) {
        let first = row[0];
        for (index, value) in row.iter_mut().enumerate().skip(1) {
            *value = first + *value * 10_f32.powi(-(index as i32) / 2 - 1);
        }
    }
    let svd = Svd::of(&module).unwrap();
    check(&module, &svd).unwrap();
    let u = Tensor::from_slice(&wide(&svd.u)).reshape([100, 8]);
    assert!(skew(&u, 8) < 1e-4, "{}", skew(&u, 8));
}

#[test]
fn the_largest_value_of_every_left_vector_is_positive() {
    let svd = Svd::of(&module(5, 30, 20, 7)).unwrap();
    for component in 0..5 {
        let column: Vec<f32> = svd.u.iter().skip(component).step_by(5).copied().collect();
        let largest = column.iter().copied().max_by(|x, y| x.abs().total_cmp(&y.abs())).unwrap();
        assert!(largest > 0.0);
    }
}
