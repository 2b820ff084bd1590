//! Recipes that a list of runs or of their members can be narrowed to.

use lyceum_core::recipe::Registry;

/// Names of the recipes that runs have, and `asked`: a filter that is on is seen to be, though no recipe has its name.
pub(super) fn recipes(registry: &Registry, asked: Option<&str>) -> Vec<String> {
    let mut names: Vec<String> = registry.names().map(str::to_owned).collect();
    if let Some(asked) = asked.filter(|asked| !names.iter().any(|name| name == asked)) {
        names.push(asked.to_owned());
    }
    names
}
