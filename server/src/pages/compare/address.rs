//! The address of a comparison: what is asked for, and the addresses of other comparisons.

use lyceum_core::id::ExecutionId;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use uuid::Uuid;

use super::{RUNS, alignment::Over};
use crate::api_error::ApiError;

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
        let id = id
            .parse()
            .map_err(|_| wrong(format!("`{id}` is not the id of a run; /runs lists them")))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0..=RUNS => Ok(ids),
        many => Err(wrong(format!(
            "{many} runs are too many for one page; {RUNS} can be compared at once"
        ))),
    }
}

/// The column of the baseline.
pub(super) fn place_of_baseline(run: Uuid, ids: &[ExecutionId]) -> Result<usize, ApiError> {
    ids.iter().position(|id| id.0 == run).ok_or_else(|| {
        let detail = format!("`{run}` is not one of the runs that are compared");
        ApiError::invalid_query(vec![("baseline".to_owned(), detail)])
    })
}

#[cfg(test)]
mod tests {
    use super::{super::CompareFilter, *};
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
