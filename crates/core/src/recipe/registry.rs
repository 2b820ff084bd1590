//! The recipes that a server knows.

use std::{collections::BTreeMap, sync::Arc};

use super::{Populora, Recipe};
use crate::fault::nearest;

/// Recipes by name.
#[derive(Clone, Default)]
pub struct Registry(BTreeMap<&'static str, Arc<dyn Recipe>>);

/// A name that no recipe has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no recipe `{name}`{hint}: {known}")]
pub struct UnknownRecipe {
    name: String,
    hint: String,
    known: String,
}

impl Registry {
    /// The recipes that Lyceum ships.
    pub fn shipped() -> Self {
        Self::default().with(Populora)
    }

    /// The registry with `recipe` in it.
    pub fn with(mut self, recipe: impl Recipe + 'static) -> Self {
        self.0.insert(recipe.name(), Arc::new(recipe));
        self
    }

    /// The recipe called `name`.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn Recipe>, UnknownRecipe> {
        self.0.get(name).ok_or_else(|| UnknownRecipe {
            name: name.to_owned(),
            hint: nearest(name, self.names())
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default(),
            known: match self.0.is_empty() {
                true => "this server has none".to_owned(),
                false => format!("valid are {}", self.names().collect::<Vec<_>>().join(", ")),
            },
        })
    }

    /// All names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// All recipes, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Recipe>> {
        self.0.values()
    }
}
