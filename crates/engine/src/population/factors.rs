//! The two low-rank factors of an adapted projection, and the factors of a layer.

use lyceum_core::work::Projection;
use tch::Tensor;

/// `W + scaling · B A`. Stacked: A `[N, r, in]`, B `[N, out, r]`; single adapter: A `[r, in]`, B `[out, r]`.
#[derive(Debug)]
pub struct Factors {
    /// `lora_A.weight`
    pub a: Tensor,
    /// `lora_B.weight`
    pub b: Tensor,
}

/// The factors of one decoder layer, by projection.
#[derive(Debug, Default)]
pub struct LayerFactors {
    by_projection: [Option<Factors>; Projection::ALL.len()],
}

impl LayerFactors {
    /// The factors of a projection, if it is adapted.
    pub fn get(&self, projection: Projection) -> Option<&Factors> {
        self.by_projection[projection as usize].as_ref()
    }

    /// Mutable access, for optimisers.
    pub fn get_mut(&mut self, projection: Projection) -> Option<&mut Factors> {
        self.by_projection[projection as usize].as_mut()
    }

    /// Sets the factors of a projection.
    pub fn insert(&mut self, projection: Projection, factors: Factors) {
        self.by_projection[projection as usize] = Some(factors);
    }

    /// The adapted projections in order.
    pub fn iter(&self) -> impl Iterator<Item = (Projection, &Factors)> {
        Projection::ALL
            .into_iter()
            .filter_map(|projection| Some((projection, self.get(projection)?)))
    }
}
