//! The registry of recipes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{Expense, Metric, Planner, Recipe};
use crate::config::Schema;
use crate::fault::nearest;

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
    /// Adds `recipe`.
    pub fn with(mut self, recipe: impl Recipe + 'static) -> Self {
        let entry = Entry { recipe: Arc::new(recipe), config_schema: Arc::default() };
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
        Ok(entry.config_schema.get_or_init(|| Schema::of_runs(entry.recipe.as_ref())))
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownRecipe> {
        self.recipes.get(name).ok_or_else(|| UnknownRecipe {
            name: name.to_owned(),
            hint: nearest(name, self.names()).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default(),
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
