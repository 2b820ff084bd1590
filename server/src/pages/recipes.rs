//! The choice of recipes in filters.

use lyceum_core::recipe::Registry;

/// The names of all recipes, and `asked`, so that an active filter is visible even if there is no such recipe.
pub(super) fn recipes(registry: &Registry, asked: Option<&str>) -> Vec<String> {
    let mut names: Vec<String> = registry.names().map(str::to_owned).collect();
    if let Some(asked) = asked.filter(|asked| !names.iter().any(|name| name == asked)) {
        names.push(asked.to_owned());
    }
    names
}
