//! Modules for tests, and operators applied to them.

use std::collections::BTreeMap;

use lyceum_core::evolution::operator;
use lyceum_engine::evolve::{Draws, Kernel, Module, Notes, Seeded};

/// A module with values of the magnitude found after training.
pub(crate) fn module(rank: usize, inputs: usize, outputs: usize, seed: u64) -> Module {
    let mut draws = Seeded::new(seed, "module");
    let mut values = |count: usize, scale: f32| {
        let mut values = vec![0.0; count];
        draws.normals(&mut values);
        values.iter_mut().for_each(|value| *value *= scale);
        values
    };
    Module { rank, inputs, outputs, a: values(rank * inputs, 0.1), b: values(outputs * rank, 0.02) }
}

/// The first module of a child by `name` with these parameters, and the number of notes.
pub(crate) fn child(name: &str, set: &[(&str, f64)], parents: Vec<Module>, seed: u64) -> Module {
    let operator = operator(name).unwrap();
    let set: BTreeMap<String, f64> = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let parameters = operator.resolve(&set).unwrap();
    let kernel = Kernel::new(operator, &parameters, 1, parents[0].rank, &mut Seeded::new(seed, "child")).unwrap();
    kernel.child(0, parents, &mut Seeded::new(seed, "module"), &Notes::default()).unwrap()
}

/// B A, row by row.
pub(crate) fn update(module: &Module) -> Vec<f64> {
    let mut update = Vec::with_capacity(module.outputs * module.inputs);
    for row in module.b.chunks_exact(module.rank) {
        for column in 0..module.inputs {
            let term = |inner: usize| f64::from(row[inner]) * f64::from(module.a[inner * module.inputs + column]);
            update.push((0..module.rank).map(term).sum());
        }
    }
    update
}

/// The largest difference, relative to the largest value of `expected`.
pub(crate) fn apart(ours: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(ours.len(), expected.len());
    let largest = expected.iter().map(|value| value.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let difference = ours.iter().zip(expected).map(|(ours, theirs)| (ours - theirs).abs()).fold(0.0, f64::max);
    difference / largest
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}
