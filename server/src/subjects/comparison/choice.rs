//! What is compared: the address of a comparison, its metrics, and the labels of its runs.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Highlight, Metric, Registry};
use lyceum_store::runs::Run;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use super::alignment::Over;
use super::compared::Compared;
use crate::api_error::ApiError;
use crate::frame::format;
use crate::subjects::lab::overlay::RUNS;
use crate::subjects::population::lineage::place_of;

/// The address of a comparison; of the usual metrics if `metrics` is empty.
pub(super) fn address(ids: &str, metrics: &str, by_arm: bool, over: Over, baseline: Option<Uuid>) -> String {
    let mut address = format!("/compare?runs={ids}");
    if !metrics.is_empty() {
        address.push_str("&metrics=");
        address.extend(utf8_percent_encode(metrics, NON_ALPHANUMERIC));
    }
    if by_arm {
        address.push_str("&arms=true");
    }
    if over != Over::default() {
        address.push_str("&over=");
        address.push_str(over.name());
    }
    if let Some(run) = baseline {
        address.push_str(&format!("&baseline={run}"));
    }
    address
}

/// The runs of the address.
pub(super) fn ids(text: &str) -> Result<Vec<ExecutionId>, ApiError> {
    let wrong = |detail: String| ApiError::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids = Vec::new();
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let id = id.parse().map_err(|_| wrong(format!("`{id}` is not the id of a run; /runs lists them")))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0..=RUNS => Ok(ids),
        many => Err(wrong(format!("{many} runs are too many for one page; {RUNS} can be compared at once"))),
    }
}

/// The column of the baseline.
pub(super) fn place_of_baseline(run: Uuid, ids: &[ExecutionId]) -> Result<usize, ApiError> {
    ids.iter().position(|id| id.0 == run).ok_or_else(|| {
        let detail = format!("`{run}` is not one of the runs that are compared");
        ApiError::invalid_query(vec![("baseline".to_owned(), detail)])
    })
}

/// Maximum number of metrics drawn.
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
    let names: Vec<String> =
        names.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if !is_empty {
        for name in &names {
            place_of("metrics", name, known)?;
        }
    }
    if names.len() > DRAWN {
        let detail = format!("{} metrics are too many for one page; {DRAWN} can be drawn at once", names.len());
        return Err(ApiError::invalid_query(vec![("metrics".to_owned(), detail)]));
    }
    Ok(names)
}

/// A label for each run: its name, with its seed and, if necessary, its id if another run has the same.
pub(crate) fn labels<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let runs: Vec<&Run> = runs.collect();
    let named = |run: &Run| run.name.clone();
    let seeded = |run: &Run| format!("{}, seed {}", run.name, run.seed.0);
    let label = |run: &&Run| {
        let alone = |of: &dyn Fn(&Run) -> String| runs.iter().filter(|other| of(other) == of(run)).count() == 1;
        if alone(&named) {
            named(run)
        } else if alone(&seeded) {
            seeded(run)
        } else {
            format!("{} ({})", seeded(run), format::id(&run.id))
        }
    };
    runs.iter().map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::super::CompareFilter;
    use super::*;
    use crate::contract::query;

    #[test]
    fn an_address_keeps_metrics_of_any_name() {
        let names = "a&b=c,with space,50%,c#,1+1,é\"'<";
        let address = address("r", names, true, Over::Tokens, None);
        let (_, query) = address.split_once('?').unwrap();
        assert!(!query.contains(['#', ' ', '+', '"', '<']), "{query}");
        let read: CompareFilter = query::parse(query).unwrap();
        assert_eq!((read.runs.as_deref(), read.arms), (Some("r"), Some(true)));
        assert_eq!(read.over, Some(Over::Tokens));
        assert_eq!(read.metrics.as_deref(), Some(names));
    }
}
