//! The registry of recipes.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    Azr, BenchmarkEvaluation, CrossPlayEvaluation, DatasetCheckEvaluation, Expense, FrozenSideEvaluation, Gasp,
    GoalpostsEvaluation, Metric, OperatorRetentionEvaluation, Planner, Populora, RZero, Recipe, RegenerateEvaluation,
    Rlvr, Sage,
};
use crate::{config::Schema, fault::nearest};

/// Recipes, and the planners of evaluations, by name.
#[derive(Clone, Default)]
pub struct Registry {
    recipes: BTreeMap<&'static str, Entry>,
    evaluations: BTreeMap<&'static str, Arc<dyn Planner>>,
}

#[derive(Clone)]
struct Entry {
    recipe: Arc<dyn Recipe>,
    config_schema: Arc<OnceLock<Schema>>,
}

/// No recipe has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no recipe `{name}`{hint}: {known}")]
pub struct UnknownRecipe {
    name: String,
    hint: String,
    known: String,
}

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
            .with_evaluation(OperatorRetentionEvaluation)
            .with_evaluation(GoalpostsEvaluation)
    }

    /// Adds `recipe`.
    pub fn with(mut self, recipe: impl Recipe + 'static) -> Self {
        let entry = Entry {
            recipe: Arc::new(recipe),
            config_schema: Arc::default(),
        };
        self.recipes.insert(entry.recipe.name(), entry);
        self
    }

    /// Adds a planner of evaluations.
    pub fn with_evaluation(mut self, planner: impl Planner + 'static) -> Self {
        self.evaluations.insert(planner.name(), Arc::new(planner));
        self
    }

    /// The recipe called `name`.
    ///
    /// # Errors
    /// There is no such recipe; names the most similar one.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Recipe>, UnknownRecipe> {
        self.entry(name).map(|entry| &entry.recipe)
    }

    /// The schema of the configs of runs of the recipe called `name`.
    ///
    /// # Errors
    /// As [`Registry::get`].
    pub fn config_schema(&self, name: &str) -> Result<&Schema, UnknownRecipe> {
        let entry = self.entry(name)?;
        Ok(entry
            .config_schema
            .get_or_init(|| Schema::of_runs(entry.recipe.as_ref())))
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownRecipe> {
        self.recipes.get(name).ok_or_else(|| UnknownRecipe {
            name: name.to_owned(),
            hint: nearest(name, self.names())
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
            known: match self.recipes.is_empty() {
                true => "this server has none".to_owned(),
                false => format!("valid are {}", self.names().collect::<Vec<_>>().join(", ")),
            },
        })
    }

    /// The planner called `name`, of evaluations or of runs.
    ///
    /// # Errors
    /// There is no such planner.
    pub fn planner(&self, name: &str) -> Result<Arc<dyn Planner>, UnknownRecipe> {
        match self.evaluations.get(name) {
            Some(planner) => Ok(Arc::clone(planner)),
            None => Ok(Arc::clone(self.get(name)?) as Arc<dyn Planner>),
        }
    }

    /// Whether `name` is a planner of evaluations, a name runs cannot use.
    pub fn is_evaluation(&self, name: &str) -> bool {
        self.evaluations.contains_key(name)
    }

    /// The names of the recipes, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.recipes.keys().copied()
    }

    /// The metrics of the recipe called `name`; none if there is no such recipe.
    pub fn metrics(&self, name: &str) -> Vec<Metric> {
        self.get(name).map(|recipe| recipe.metrics()).unwrap_or_default()
    }

    /// The place of the metric that adds `expense` among those that a run records; any recipe may declare it, so that runs
    /// of recipes that are unknown here have an account too.
    pub fn expense_in(&self, expense: Expense, recorded: &[String]) -> Option<usize> {
        let metrics = self.recipes().flat_map(|recipe| recipe.metrics());
        let mut adding = metrics.filter(|metric| metric.expense == Some(expense));
        adding.find_map(|metric| metric.place_in(recorded))
    }

    /// The recipes, by name.
    pub fn recipes(&self) -> impl Iterator<Item = &Arc<dyn Recipe>> {
        self.recipes.values().map(|entry| &entry.recipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn every_shipped_preset_resolves() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/runs");
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|kind| kind != "toml") {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let document: serde_json::Value = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let resolved = config::resolve(&document, &Registry::shipped());
            let resolved = resolved.unwrap_or_else(|faults| panic!("{name}:\n{faults}"));
            toml::to_string(&resolved).unwrap_or_else(|error| panic!("{name} cannot be written as TOML: {error}"));
            names.push(name);
        }
        for name in ["demo", "populora-seedling", "baseline-seedling", "azr-seedling"] {
            assert!(names.contains(&name.to_owned()), "{name} is missing among {names:?}");
        }
        for base in [
            "seedling-math",
            "qwen3-4b",
            "qwen3-8b",
            "8b-to-4b",
            "qwen2.5-1.5b-instruct",
        ] {
            for dropout in ["", "-dropout"] {
                let name = format!("rzero-{base}{dropout}");
                assert!(names.contains(&name), "{name} is missing among {names:?}");
            }
        }
        for base in ["seedling-math", "qwen2.5-3b", "qwen2.5-7b", "qwen3-4b"] {
            let name = format!("sage-{base}");
            assert!(names.contains(&name), "{name} is missing among {names:?}");
        }
        for base in ["seedling", "qwen2.5-coder-7b", "qwen2.5-coder-7b-real-data"] {
            let name = format!("gasp-{base}");
            assert!(names.contains(&name), "{name} is missing among {names:?}");
        }
        for recipe in ["populora", "baseline", "azr"] {
            assert!(
                names.contains(&format!("{recipe}-qwen2.5-coder-7b")),
                "{recipe} at 7B is missing among {names:?}"
            );
        }
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
            let path = |suffix| {
                format!(
                    "{}/../../configs/runs/{preset}-seedling{suffix}.toml",
                    env!("CARGO_MANIFEST_DIR")
                )
            };
            let text = std::fs::read_to_string(path("")).or_else(|_| std::fs::read_to_string(path("-math")));
            let mut document: serde_json::Value = toml::from_str(&text.unwrap()).unwrap();
            document["compute"]["trainer"] = "torchrun".into();
            let resolved = config::resolve(&document, &Registry::shipped()).unwrap();
            assert_eq!(resolved.compute.trainer, crate::work::Trainer::Torchrun);
            covered.push(resolved.recipe);
            document["parameters"]["items"]["gradient_pieces"] = 2.into();
            let faults = config::resolve(&document, &Registry::shipped()).unwrap_err().0;
            let [fault] = &faults[..] else {
                panic!("{preset}: {faults:?}")
            };
            assert_eq!(fault.pointer, "/parameters/items/gradient_pieces");
            assert!(
                fault.detail.contains("`torchrun` (`compute.trainer`)"),
                "{}",
                fault.detail
            );
        }
        for name in Registry::shipped().names() {
            assert!(covered.iter().any(|recipe| recipe == name), "{name} is not covered");
        }
    }
}
