//! The recipes, and the planners of evaluations, that ship with Lyceum.

use crate::contract::Registry;
use crate::evaluations::{
    BenchmarkEvaluation, CrossPlayEvaluation, DatasetCheckEvaluation, FrozenSideEvaluation, GoalpostsEvaluation,
    MajorityVoteEvaluation, OperatorRetentionEvaluation, RegenerateEvaluation,
};
use crate::recipes::{Azr, Gasp, Populora, RZero, Rlvr, Sage};

impl Registry {
    /// Everything that ships with Lyceum.
    pub fn shipped() -> Self {
        Self::default()
            .with(Populora)
            .with(Azr)
            .with(Rlvr)
            .with(RZero)
            .with(Sage)
            .with(Gasp)
            .with_evaluation(BenchmarkEvaluation)
            .with_evaluation(CrossPlayEvaluation)
            .with_evaluation(DatasetCheckEvaluation)
            .with_evaluation(FrozenSideEvaluation)
            .with_evaluation(RegenerateEvaluation)
            .with_evaluation(MajorityVoteEvaluation)
            .with_evaluation(OperatorRetentionEvaluation)
            .with_evaluation(GoalpostsEvaluation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn every_shipped_preset_resolves_and_learns_at_rates_that_move() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/runs");
        let registry = Registry::shipped();
        let mut at_papers_rates = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|kind| kind != "toml") {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let document: serde_json::Value = toml::from_str(&text).unwrap();
            let resolved = config::resolve(&document, &registry);
            let resolved = resolved.unwrap_or_else(|faults| panic!("{name}:\n{faults}"));
            toml::to_string(&resolved).unwrap_or_else(|error| panic!("{name} cannot be written as TOML: {error}"));
            let recipe = registry.get(&resolved.recipe).unwrap();
            assert_eq!(recipe.warnings(&resolved).unwrap(), [], "{name}");

            // The paper's own rate stands in the preset's head.
            let heads = text.lines().filter(|line| line.starts_with('#'));
            let set = heads.flat_map(|line| line.split("--set ").skip(1)).filter_map(|set| set.trim().split_once('='));
            let rates: Vec<(&str, f64)> = set.filter_map(|(path, rate)| Some((path, rate.parse().ok()?))).collect();
            if rates.is_empty() {
                continue;
            }
            let mut document = document;
            for (path, rate) in &rates {
                let pointer = format!("/{}", path.replace('.', "/"));
                *document.pointer_mut(&pointer).unwrap_or_else(|| panic!("{name}: {path}")) = (*rate).into();
            }
            let warnings = recipe.warnings(&config::resolve(&document, &registry).unwrap()).unwrap();
            assert!(!warnings.is_empty(), "{name} at {rates:?}");
            at_papers_rates.push(resolved.recipe);
        }
        at_papers_rates.sort_unstable();
        at_papers_rates.dedup();
        assert_eq!(at_papers_rates, ["azr", "gasp", "rlvr", "rzero", "sage"]);
    }

    #[test]
    fn populations_at_7b_generate_for_several_members_in_an_item() {
        for preset in ["populora", "populora-8t8s", "populora-no-evolution"] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/runs");
            let text = std::fs::read_to_string(format!("{folder}/{preset}-qwen2.5-coder-7b.toml")).unwrap();
            let resolved = config::resolve(&toml::from_str(&text).unwrap(), &Registry::shipped()).unwrap();
            let size = |pointer: &str| resolved.parameters.pointer(pointer).unwrap().as_u64().unwrap();
            let prompts = size("/prompts_per_matchup");
            assert!(size("/items/propose") >= 4 * prompts, "{preset}: teachers");
            assert!(size("/items/solve") >= 2 * prompts, "{preset}: students");
        }
    }

    #[test]
    fn no_recipe_asks_torchrun_for_pieces_of_a_gradient() {
        let mut covered = Vec::new();
        for preset in ["populora", "baseline", "azr", "rlvr", "rzero", "sage", "gasp"] {
            let path =
                |suffix| format!("{}/../../configs/runs/{preset}-seedling{suffix}.toml", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path("")).or_else(|_| std::fs::read_to_string(path("-math")));
            let mut document: serde_json::Value = toml::from_str(&text.unwrap()).unwrap();
            document["compute"]["trainer"] = "torchrun".into();
            let resolved = config::resolve(&document, &Registry::shipped()).unwrap();
            assert_eq!(resolved.compute.trainer, crate::work::Trainer::Torchrun);
            covered.push(resolved.recipe);
            document["parameters"]["items"]["gradient_pieces"] = 2.into();
            let faults = config::resolve(&document, &Registry::shipped()).unwrap_err().0;
            let [fault] = &faults[..] else { panic!("{preset}: {faults:?}") };
            assert_eq!(fault.pointer, "/parameters/items/gradient_pieces");
            assert!(fault.detail.contains("`torchrun` (`compute.trainer`)"), "{}", fault.detail);
        }
        for name in Registry::shipped().names() {
            assert!(covered.iter().any(|recipe| recipe == name), "{name} is not covered");
        }
    }
}
