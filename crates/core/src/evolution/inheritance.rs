//! The rating a child inherits.

use super::EvolutionConfig;
use crate::rating::{Rating, TrueSkillConfig};

/// A newborn's rating: the mean of its parents' mu and of their sigma, or the configured share of the prior's sigma.
/// Without parents it is the prior.
pub fn inherited(parents: &[Rating], config: &EvolutionConfig, ratings: &TrueSkillConfig) -> Rating {
    if parents.is_empty() {
        return ratings.prior();
    }
    let mean = |value: fn(&Rating) -> f64| parents.iter().map(value).sum::<f64>() / parents.len() as f64;
    Rating {
        mu: mean(|parent| parent.mu),
        sigma: config
            .child_sigma
            .map_or_else(|| mean(|parent| parent.sigma), |share| ratings.sigma * share),
    }
}
