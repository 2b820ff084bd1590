//! How adapters lie to each other: lengths, angles, distances and effective ranks of their updates ΔW = s B A, with all modules
//! as one vector. No ΔW is formed: ⟨ΔW₁, ΔW₂⟩ = s² tr(B₁ᵀ B₂ A₂ A₁ᵀ), a sum over r × r inner products.

use std::sync::{Mutex, PoisonError};

use lyceum_core::id::VersionId;
use lyceum_core::work::{Geometry, PairGeometry, VersionGeometry};

use super::matrix::Matrix;
use super::svd::qr;
use super::{Module, Parent, matrix, svd};
use crate::error::Result;
use crate::evolve;

/// What a module adds.
struct Share {
    /// Inner products of the updates, without the scaling.
    products: Matrix,
    /// Effective ranks; `None` where the update is zero.
    ranks: Vec<Option<f64>>,
}

/// The geometry of adapters of one shape and base.
///
/// # Errors
/// Adapters that cannot be mixed, or hold NaN or infinity.
pub fn geometry(adapters: &[(VersionId, Parent)]) -> Result<Geometry> {
    let Some((_, first)) = adapters.first() else { return Ok(Geometry::default()) };
    let fits = adapters.iter().map(|(_, adapter)| adapter.fit(first)).collect::<Result<Vec<_>>>()?;
    adapters.iter().try_for_each(|(_, adapter)| adapter.check_finite())?;
    let shares: Mutex<Vec<Option<Share>>> = Mutex::new((0..first.modules()).map(|_| None).collect());
    evolve::for_each(first.modules(), |index| {
        let modules = adapters.iter().zip(&fits);
        let modules: Vec<Module> = modules.map(|((_, adapter), fit)| adapter.module(index, *fit)).collect();
        let share = Share::of(&modules);
        shares.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(share);
        Ok(())
    })?;
    let shares = shares.into_inner().unwrap_or_else(PoisonError::into_inner);
    let shares: Vec<Share> = shares.into_iter().flatten().collect();
    // In the order of the modules, so that the sums have the same bits on any number of threads.
    let square = first.scaling() * first.scaling();
    let product = |one: usize, other: usize| -> f64 {
        square * shares.iter().map(|share| share.products.at(one, other)).sum::<f64>()
    };
    let count = adapters.len();
    let products = Matrix::new(count, count, product);
    let norm = |place: usize| products.at(place, place).max(0.0).sqrt();
    let versions = adapters.iter().enumerate().map(|(place, (version, _))| {
        let ranks: Vec<f64> = shares.iter().filter_map(|share| share.ranks[place]).collect();
        VersionGeometry {
            version: *version,
            norm: norm(place),
            effective_rank: (!ranks.is_empty()).then(|| ranks.iter().sum::<f64>() / ranks.len() as f64),
        }
    });
    let pairs = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other))).map(|(one, other)| {
        let product = products.at(one, other);
        let squared = products.at(one, one) + products.at(other, other) - 2.0 * product;
        let lengths = (products.at(one, one) * products.at(other, other)).sqrt();
        PairGeometry {
            first: adapters[one].0,
            second: adapters[other].0,
            cosine: (lengths > 0.0).then(|| (product / lengths).clamp(-1.0, 1.0)),
            distance: squared.max(0.0).sqrt(),
        }
    });
    Ok(Geometry { versions: versions.collect(), pairs: pairs.collect() })
}

impl Share {
    fn of(modules: &[Module]) -> Self {
        let (rank, outputs) = (modules[0].rank, modules[0].outputs);
        let vectors = modules.len() * rank;
        let a: Vec<f32> = modules.iter().flat_map(|module| module.a.iter().copied()).collect();
        let rows = (0..outputs).flat_map(|row| {
            let of_row = move |module: &'_ Module| module.b[row * rank..(row + 1) * rank].to_vec();
            modules.iter().flat_map(of_row)
        });
        let b: Vec<f32> = rows.collect();
        let (a, b) = (matrix::gram_of_rows(&a, vectors), matrix::gram_of_columns(&b, vectors));
        let block = |of: &Matrix, one: usize, other: usize| {
            Matrix::new(rank, rank, |row, column| of.at(one * rank + row, other * rank + column))
        };
        let product = |one: usize, other: usize| -> f64 {
            let (a, b) = (block(&a, one, other), block(&b, one, other));
            let rows = (0..rank).flat_map(|row| a.row(row).iter().zip(b.row(row)));
            rows.map(|(a, b)| a * b).sum()
        };
        let ranks = (0..modules.len()).map(|place| {
            let (a, b) = (qr(&block(&a, place, place)), qr(&block(&b, place, place)));
            effective_rank(&svd::svd(&b.r.times(&a.r.transposed())).s)
        });
        Self { products: Matrix::new(modules.len(), modules.len(), product), ranks: ranks.collect() }
    }
}

/// exp of the entropy of the singular values' shares (Roy and Vetterli 2007, "The effective rank: a measure of effective
/// dimensionality", definition 1); `None` if all are 0.
fn effective_rank(singular: &[f64]) -> Option<f64> {
    let sum: f64 = singular.iter().sum();
    let shares = singular.iter().map(|value| value / sum).filter(|share| *share > 0.0);
    (sum > 0.0).then(|| (-shares.map(|share| share * share.ln()).sum::<f64>()).exp())
}
