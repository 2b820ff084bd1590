//! The rating a child inherits.

use super::EvolutionConfig;
use crate::rating::{Rating, TrueSkillConfig};

/// A newborn's rating: the mean of its parents' mu and a share of the prior's sigma, so that it is neither taken as
/// proven nor reset to the start. Without parents it is the prior.
pub fn inherited(parents: &[Rating], config: &EvolutionConfig, ratings: &TrueSkillConfig) -> Rating {
    if parents.is_empty() {
        return ratings.prior();
    }
    Rating {
        mu: parents.iter().map(|parent| parent.mu).sum::<f64>() / parents.len() as f64,
        sigma: ratings.sigma * config.child_sigma,
    }
}
