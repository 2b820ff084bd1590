//! Work of all runs and evaluations.

pub(super) mod pages;

use lyceum_core::id::{ExecutionId, WorkId, WorkerId};
use lyceum_core::work::{BenchmarkPayload, Payload, WorkKind};
use lyceum_store::page::Window;
use lyceum_store::work::{self, WorkDetail, WorkFilter, WorkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Endpoint, Filter, Order, act, list, show};

/// Selects items.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ItemFilter {
    /// Of this run.
    run: Option<Uuid>,
    /// Of this evaluation.
    evaluation: Option<Uuid>,
    /// Of this step.
    #[schemars(range(max = i32::MAX))]
    step: Option<u32>,
    /// In this state.
    state: Option<WorkState>,
    /// Of this kind: `rollout`, `verify`, `update`, `evolve` or `benchmark`.
    kind: Option<WorkKind>,
    /// Held now or last by this worker.
    worker: Option<Uuid>,
}

impl Filter for ItemFilter {
    fn check(&self, _: Option<Order>) -> Result<(), ApiError> {
        match self.run.is_some() && self.evaluation.is_some() {
            true => {
                let detail = "there is also a run; send only one of the two";
                Err(ApiError::invalid_query(vec![("evaluation".to_owned(), detail.to_owned())]))
            }
            false => Ok(()),
        }
    }
}

impl ItemFilter {
    fn stored(&self) -> WorkFilter {
        WorkFilter {
            execution: self.run.or(self.evaluation).map(ExecutionId),
            step: self.step,
            state: self.state,
            kind: self.kind,
            worker: self.worker.map(WorkerId),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let all = About::new("list_work", "/work").says("List work items with their errors.", "A page of items");
    let all = list(all, "work", async |db: &PgPool, filter: &ItemFilter, window: &Window| {
        work::page(db, &filter.stored(), window).await
    });
    let one =
        About::new("show_work", "/work/{id}").says("Show an item with its payload, result and errors.", "The item");
    let one = show(one, "work", ShownWork::find)
        .id("id", "The item")
        .describe("`lyceum-worker run` takes the response and runs the item by hand.");
    let again = About::new("retry_work", "/work/{id}/retry")
        .says("Give a failed item new tries and resume its run.", "The item");
    let retry = async |db: &PgPool, id: WorkId| {
        work::retry(db, id).await?;
        tracing::info!(work.id = %id, "gave work item {id} new tries");
        Ok(())
    };
    let again = act(again, "work", ShownWork::find, retry).id("id", "The item").if_match();
    vec![all, one, again]
}

/// An item with its payload, result and inputs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShownWork {
    #[serde(flatten)]
    work: WorkDetail,
    /// What the item reads besides its payload. `lyceum-worker run` takes this whole response and runs the item by hand.
    inputs: Vec<WorkInput>,
    /// What every worker lacks that is present; null if one could take the item, or it is not `ready`.
    lacks: Option<String>,
}

impl ShownWork {
    async fn find(db: &PgPool, id: WorkId) -> lyceum_store::Result<Self> {
        let work = work::find(db, id).await?;
        Ok(Self {
            inputs: inputs(work.payload.get()),
            lacks: work::lacks(db, id).await?.map(|lack| lack.to_string()),
            work,
        })
    }
}

/// An input of an item.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkInput {
    /// `adapter`, `optimizer`, `tokens`, `gradient` or `embeddings` for an artifact, `dataset` for rows.
    #[schema(example = "adapter")]
    kind: &'static str,
    /// The artifact's digest, or the dataset's id.
    name: String,
    /// Its path on this server.
    #[schema(example = "/api/v1/artifacts/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")]
    path: String,
}

/// The inputs of the item with this payload; none if this release cannot read the payload.
pub(crate) fn inputs(payload: &str) -> Vec<WorkInput> {
    let Ok(payload) = serde_json::from_str::<Payload>(payload) else { return Vec::new() };
    let artifacts = payload.artifacts().into_iter();
    let mut inputs: Vec<WorkInput> = artifacts
        .map(|(kind, digest)| WorkInput {
            kind: kind.name(),
            name: digest.to_string(),
            path: format!("/api/v1/artifacts/{digest}"),
        })
        .collect();
    if let Payload::Benchmark(BenchmarkPayload { dataset, .. }) = payload {
        inputs.push(WorkInput {
            kind: "dataset",
            name: dataset.to_string(),
            path: format!("/api/v1/datasets/{dataset}/rows"),
        });
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::inputs;
    use serde_json::json;

    #[test]
    fn a_benchmark_reads_an_adapter_and_rows() {
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let id = "0190a5b0-0000-7000-8000-000000000000";
        let payload = json!({"benchmark": {
            "suite": "gsm8k", "dataset": id, "first": 0, "rows": 2, "base_model": {"name": "seedling"},
            "adapter": {"version": id, "artifact": digest}, "prompts": "completion", "sampling": {}, "n": 1, "seed": 7
        }});
        let found: Vec<_> = inputs(&payload.to_string()).into_iter().map(|input| (input.kind, input.path)).collect();
        assert_eq!(
            found,
            [("adapter", format!("/api/v1/artifacts/{digest}")), ("dataset", format!("/api/v1/datasets/{id}/rows"))]
        );
        assert!(inputs(r#"{"of another release": 1}"#).is_empty());
    }
}
