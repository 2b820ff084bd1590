//! The step-size schedule.

use serde::{Deserialize, Serialize};

/// Linear warm-up, a plateau, and a linear decay to zero over the last steps (Hu et al. 2024, arXiv 2404.06395, section
/// 4.1). Before the decay, the step size does not depend on the total number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The step size of the plateau.
    pub learning_rate: f64,
    /// Steps of the warm-up.
    pub warmup_steps: u64,
    pub decay_steps: u64,
}

impl Schedule {
    /// The step size at step `step` (from 0) of `steps`.
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        let rising = (step + 1) as f64 / self.warmup_steps.max(1) as f64;
        let falling = steps.saturating_sub(step) as f64 / (self.decay_steps + 1) as f64;
        self.learning_rate * rising.min(falling).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn it_rises_stays_and_falls() {
        let schedule = Schedule {
            learning_rate: 2.0,
            warmup_steps: 4,
            decay_steps: 3,
        };
        let rates: Vec<f64> = (0..10).map(|step| schedule.at(step, 10)).collect();
        assert_eq!(rates, [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 1.5, 1.0, 0.5]);
        assert_eq!(schedule.at(5, 100), 2.0);
    }
}
