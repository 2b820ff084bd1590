//! The metrics of a comparison: those that are known, and those that are drawn.

use lyceum_core::recipe::{Highlight, Metric, Registry};
use std::collections::{BTreeMap, BTreeSet};

use super::{super::lineage::place_of, compared::Compared};
use crate::api_error::ApiError;

/// Metrics drawn, at most.
const DRAWN: usize = 16;

/// The units of the metrics that the recipes of the runs record.
pub(super) fn units(registry: &Registry, compared: &[Compared]) -> BTreeMap<&'static str, &'static str> {
    let recipes = compared.iter().map(|run| &run.detail.run.recipe);
    let metrics = recipes.flat_map(|recipe| registry.metrics(recipe));
    metrics.map(|metric| (metric.name, metric.unit)).collect()
}

/// The metrics of any of the runs.
pub(super) fn known(compared: &[Compared]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for metric in compared.iter().flat_map(|run| &run.detail.metrics) {
        if !known.contains(metric) {
            known.push(metric.clone());
        }
    }
    known
}

/// The metrics that the recipes of the runs highlight in comparisons.
pub(super) fn usual(registry: &Registry, compared: &[Compared], known: &[String]) -> Vec<String> {
    let recipes: BTreeSet<&str> = compared.iter().map(|run| run.detail.run.recipe.as_str()).collect();
    let metrics: Vec<Metric> = recipes
        .into_iter()
        .flat_map(|name| registry.metrics(name))
        .filter(|metric| metric.highlights.contains(&Highlight::Comparison))
        .collect();
    let is_usual = |name: &&String| metrics.iter().any(|metric| metric.name == **name);
    known.iter().filter(is_usual).take(DRAWN).cloned().collect()
}

/// The metrics named in the address.
pub(super) fn named(names: &str, known: &[String], is_empty: bool) -> Result<Vec<String>, ApiError> {
    let names: Vec<String> = names
        .split(',')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    if !is_empty {
        for name in &names {
            place_of("metrics", name, known)?;
        }
    }
    if names.len() > DRAWN {
        let detail = format!(
            "{} metrics are too many for one page; {DRAWN} can be drawn at once",
            names.len()
        );
        return Err(ApiError::invalid_query(vec![("metrics".to_owned(), detail)]));
    }
    Ok(names)
}
