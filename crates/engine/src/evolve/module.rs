//! One adapted module, as the operators see it.

/// The two factors of one adapted module in fp32, row by row, without the scaling α/r.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Rank r.
    pub rank: usize,
    /// Inputs of the module.
    pub inputs: usize,
    /// Outputs of the module.
    pub outputs: usize,
    /// A `[r, inputs]`.
    pub a: Vec<f32>,
    /// B `[outputs, r]`.
    pub b: Vec<f32>,
}

impl Module {
    /// Whether the update BA is zero because a factor is, as in a fresh adapter.
    pub fn is_zero(&self) -> bool {
        let zero = |factor: &[f32]| factor.iter().all(|&value| value == 0.0);
        zero(&self.b) || zero(&self.a)
    }

    /// Whether every value is finite.
    pub(super) fn is_finite(&self) -> bool {
        let finite = |factor: &[f32]| factor.iter().all(|value| value.is_finite());
        finite(&self.a) && finite(&self.b)
    }

    /// Applies `change` to each factor.
    pub(super) fn map(mut self, mut change: impl FnMut(&mut [f32])) -> Self {
        change(&mut self.a);
        change(&mut self.b);
        self
    }

    /// Applies `change` to each factor together with the other module's: first A, then B.
    pub(super) fn zip(mut self, other: &Self, mut change: impl FnMut(&mut [f32], &[f32])) -> Self {
        change(&mut self.a, &other.a);
        change(&mut self.b, &other.b);
        self
    }
}
