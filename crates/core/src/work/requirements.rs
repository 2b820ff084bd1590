//! Requirements a worker must meet to take an item.

use serde::{Deserialize, Serialize};

use super::{Compute, Device, Kernels, Payload, Sampler, Trainer};
use crate::footprint::BaseShape;

/// Requirements a worker must meet to take an item, besides serving its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The base model it must have, by its name in the run's config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<String>,
    /// Peak device memory that the item needs, in bytes; 0 if it is not known.
    #[serde(default)]
    pub memory_bytes: u64,
    /// What it is computed on; `None` means anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The instruction set that its processor must have; `None` means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Kernels>,
    /// What generates its tokens; the engine for items without any.
    #[serde(default, skip_serializing_if = "Sampler::is_engine")]
    pub sampler: Sampler,
    /// What takes its optimizer steps; the engine for items that are no updates.
    #[serde(default, skip_serializing_if = "Trainer::is_engine")]
    pub trainer: Trainer,
}

impl Requirements {
    /// What `payload` says that a worker must have. Of memory that is the least: the base's weights, if the engine holds a base
    /// whose sizes are known. Servers and groups of processes hold theirs elsewhere, and births need no base.
    pub fn of(payload: &Payload) -> Self {
        let on_engine = match payload {
            Payload::Rollout(rollout) => rollout.sampler().is_engine().then_some(rollout.compute),
            Payload::Benchmark(benchmark) => benchmark.compute.sampler.is_engine().then_some(benchmark.compute),
            Payload::Update(update) => update.compute.trainer.is_engine().then_some(update.compute),
            Payload::Evolve(_) | Payload::Verify(_) => None,
        };
        let base = payload.base_model();
        let shape = base.and_then(|base| BaseShape::of_name(&base.name));
        let weights = |(compute, shape): (Compute, BaseShape)| compute.dtype.bytes() * shape.parameters();
        Self {
            base_model: base.map(|base| base.name.clone()),
            memory_bytes: on_engine.zip(shape).map_or(0, weights),
            device: on_engine.and_then(|compute| compute.device),
            kernels: on_engine.and_then(|compute| compute.kernels),
            sampler: payload.sampler(),
            trainer: payload.trainer(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(kind: &str, base: &str, compute: serde_json::Value) -> Payload {
        let base = serde_json::json!({ "name": base });
        let payload = match kind {
            "rollout" => serde_json::json!({
                "base_model": base, "compute": compute, "adapters": [], "sampling": {}, "requests": []
            }),
            "update" => serde_json::json!({
                "base_model": base, "compute": compute, "members": [], "loss": "cross_entropy", "optimizer": {},
                "micro_batch_tokens": 16384, "recompute": true
            }),
            other => unreachable!("{other}"),
        };
        serde_json::from_value(serde_json::json!({ kind: payload })).unwrap()
    }

    #[test]
    fn what_the_engine_computes_needs_the_weights_and_the_device_that_the_config_names() {
        let base = "Qwen/Qwen2.5-Coder-7B";
        let of = |kind: &str, compute| {
            let Requirements { memory_bytes, device, .. } = Requirements::of(&payload(kind, base, compute));
            (memory_bytes, device)
        };
        let weights = 2 * BaseShape::of_name("Qwen2.5-7B").unwrap().parameters();
        assert!((15_000_000_000..16_000_000_000).contains(&weights), "{weights}");
        let on_gpu = serde_json::json!({"dtype": "bf16", "device": "cuda"});
        for kind in ["rollout", "update"] {
            assert_eq!(of(kind, on_gpu.clone()), (weights, Some(Device::Cuda)), "{kind}");
            assert_eq!(of(kind, serde_json::json!({"dtype": "bf16"})), (weights, None), "{kind}");
        }
        let served = serde_json::json!({"dtype": "bf16", "device": "cuda", "sampler": "served"});
        assert_eq!(of("rollout", served.clone()), (0, None));
        assert_eq!(of("update", served), (weights, Some(Device::Cuda)));
        let group = serde_json::json!({"dtype": "bf16", "device": "cuda", "trainer": "torchrun"});
        assert_eq!(of("update", group), (0, None));
        let kernels = serde_json::json!({"dtype": "bf16", "kernels": "avx512_bf16"});
        let pinned = |kind, name| Requirements::of(&payload(kind, name, kernels.clone())).kernels;
        assert_eq!(pinned("rollout", base), Some(Kernels::Avx512Bf16));
        assert_eq!(pinned("update", base), Some(Kernels::Avx512Bf16));
        let unknown = Requirements::of(&payload("rollout", "someone/unknown", on_gpu));
        assert_eq!((unknown.memory_bytes, unknown.device), (0, Some(Device::Cuda)));
    }
}
