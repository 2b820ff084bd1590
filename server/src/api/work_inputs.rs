//! What an item reads besides its payload.

use lyceum_core::work::{BenchmarkPayload, Payload};
use serde::Serialize;
use utoipa::ToSchema;

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
    let Ok(payload) = serde_json::from_str::<Payload>(payload) else {
        return Vec::new();
    };
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
        let found: Vec<_> = inputs(&payload.to_string())
            .into_iter()
            .map(|input| (input.kind, input.path))
            .collect();
        assert_eq!(
            found,
            [
                ("adapter", format!("/api/v1/artifacts/{digest}")),
                ("dataset", format!("/api/v1/datasets/{id}/rows"))
            ]
        );
        assert!(inputs(r#"{"of another release": 1}"#).is_empty());
    }
}
