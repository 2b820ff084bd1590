//! The evaluation with frozen sides that pages of a run offer.

use lyceum_core::config::RunConfig;
use lyceum_core::recipe::{Registry, Side};
use lyceum_store::runs::RunDetail;
use serde_json::json;

/// Versions of a side to aim at.
const VERSIONS: u32 = 14;
/// Fewest and most steps.
const STEPS: [u32; 2] = [3, 7];

/// The body that creates the evaluation: evenly spaced steps of the run, fewer for larger populations. None before the
/// first step has ended, and for recipes whose members do not propose programs.
pub(crate) fn body(registry: &Registry, detail: &RunDetail) -> Option<String> {
    let reached = detail.run.step.max(0).cast_unsigned();
    let recipe = registry.get(&detail.run.recipe).ok()?;
    if reached == 0 || !recipe.capabilities().programs || !registry.is_evaluation("evaluation/frozen_side") {
        return None;
    }
    let config: RunConfig = serde_json::from_value(detail.config.clone()).ok()?;
    let steps = steps(reached, (VERSIONS / members(&config).max(1)).clamp(STEPS[0], STEPS[1]));
    let spec = json!({"type": "frozen_side", "run": detail.run.id, "steps": steps});
    Some(json!({ "spec": spec }).to_string())
}

/// Members of the larger side.
fn members(config: &RunConfig) -> u32 {
    let on = |side: Side| {
        let groups = config.populations.values().flat_map(|population| &population.members);
        let playing = groups.filter(|group| group.roles.iter().any(|role| role.side() == side));
        playing.map(|group| group.count).sum::<u32>()
    };
    on(Side::Proposes).max(on(Side::Solves))
}

/// Up to `count` steps from 0 to `last`.
fn steps(last: u32, count: u32) -> Vec<u32> {
    let gaps = (count - 1).min(last).max(1);
    (0..=gaps)
        .map(|place| u32::try_from(u64::from(last) * u64::from(place) / u64::from(gaps)).unwrap_or(last))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn steps_are_spread_from_the_first_to_the_last() {
        assert_eq!(steps(60, 7), [0, 10, 20, 30, 40, 50, 60]);
        assert_eq!(steps(1, 7), [0, 1]);
        assert_eq!(steps(100, 3), [0, 50, 100]);
        assert_eq!(steps(3, 7), [0, 1, 2, 3]);
    }
}
