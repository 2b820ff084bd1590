//! How a run's growing set grows, and how good the scores are that decide what joins it: for the page and the API.

pub(crate) mod endpoints;
mod growth;
mod scores;

pub(crate) use growth::Growth;
#[cfg(test)]
pub(crate) use growth::{GrowthStep, Validation};
pub(crate) use scores::{ScoreBucket, Scores};

use lyceum_core::recipe::Gates;
use lyceum_store::runs::RunDetail;

use crate::lab::Lab;

/// The scores that a critic's gates of `run` open from; `None` if its recipe has none, or is unknown here.
pub(crate) fn gates(lab: &Lab, run: &RunDetail) -> Option<Gates> {
    let recipe = lab.registry.get(&run.run.recipe).ok()?;
    let config = serde_json::from_value(run.config.clone()).ok()?;
    recipe.gates(&config).ok()?
}
