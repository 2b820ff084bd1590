//! The source of a benchmark's rows.

use lyceum_core::benchmark::BenchmarkRow;
use lyceum_core::dataset::problem;
use lyceum_core::work::BenchmarkPayload;
use lyceum_store::{Remote, Store, datasets};
use serde_json::Value;

use crate::handler::HandlerError;

/// The source of dataset rows.
#[derive(Clone, Debug)]
pub enum Rows {
    /// The database.
    Stored(Store),
    /// A server.
    Remote(Remote),
    /// The rows of the only dataset that is used, from row 0 on.
    Given(Vec<Value>),
}

impl Rows {
    /// The rows of a payload's slice.
    ///
    /// # Errors
    /// Rows that are missing or malformed.
    pub async fn slice(&self, payload: &BenchmarkPayload) -> Result<Vec<BenchmarkRow>, HandlerError> {
        let &BenchmarkPayload {
            dataset, first, rows, ..
        } = payload;
        let values = match self {
            Self::Stored(store) => datasets::slice(store.pool(), dataset, first, rows).await?,
            Self::Remote(server) => datasets::remote_slice(server, dataset, first, rows).await?,
            Self::Given(all) => all.iter().skip(first as usize).take(rows as usize).cloned().collect(),
        };
        if values.len() != rows as usize {
            return Err(HandlerError::permanent(format!(
                "dataset {dataset} has {} rows from row {first} on, and {rows} were requested",
                values.len(),
            )));
        }
        let rows = (first..).zip(&values).map(|(place, row)| {
            problem(place as usize, row)
                .map_err(|error| HandlerError::permanent(format!("row {place} of dataset {dataset}: {error}")))
        });
        rows.collect()
    }
}
