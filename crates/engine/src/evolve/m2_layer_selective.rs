//! M2, layer-selective Gaussian noise: on a random fraction of the modules.

use super::{Draws, Module, Mutation, Notes, gaussian};

/// A += N(0, (ε std(A))²) and B likewise in a fraction f of the modules, drawn without replacement; the others are
/// copied.
pub(super) struct M2 {
    epsilon: f64,
    /// Whether each module is changed.
    chosen: Vec<bool>,
}

impl M2 {
    /// Draws the modules to change: round(f · modules), and at least one unless f is 0.
    pub(super) fn new(epsilon: f64, f: f64, modules: usize, draws: &mut dyn Draws) -> Self {
        let share = (f * modules as f64).round() as usize;
        let count = if f > 0.0 { share.clamp(1, modules) } else { 0 };
        let mut chosen = vec![false; modules];
        for module in draws.choose(modules, count) {
            chosen[module] = true;
        }
        Self { epsilon, chosen }
    }
}

impl Mutation for M2 {
    fn mutate(&self, index: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        if self.chosen[index] {
            gaussian::add(parent, self.epsilon, draws, notes)
        } else {
            parent
        }
    }
}
