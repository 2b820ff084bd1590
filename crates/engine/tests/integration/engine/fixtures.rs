//! The committed checkpoints, adapters and golden values.

use std::path::{Path, PathBuf};

use lyceum_engine::peft::read_population;
use lyceum_engine::weights::Checkpoint;
use lyceum_engine::{Model, Population};
use tch::Tensor;

use crate::device::{device, placement};

pub(crate) const MODELS: [&str; 6] = [
    "qwen2-tied",
    "qwen2-untied-sharded",
    "qwen3-wide-heads",
    "qwen3-tied-sharded",
    "llama-tied-stretched",
    "mistral-untied",
];
/// The models with an adapter of every kind; the others have `all-0` to `all-2`.
pub(crate) const FULL_SET: [&str; 2] = ["qwen2-tied", "qwen3-wide-heads"];
pub(crate) const STACKED: [&str; 3] = ["all-0", "all-1", "all-2"];
pub(crate) const OTHERS: [&str; 9] = [
    "only-q_proj",
    "only-k_proj",
    "only-v_proj",
    "only-o_proj",
    "only-gate_proj",
    "only-up_proj",
    "only-down_proj",
    "attention",
    "rslora",
];
pub(crate) const SEQUENCES: usize = 4;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub(crate) fn model_folder(name: &str) -> PathBuf {
    folder().join("models").join(name)
}

pub(crate) fn adapter_folder(model: &str, adapter: &str) -> PathBuf {
    folder().join("adapters").join(model).join(adapter)
}

pub(crate) fn model(name: &str) -> Model {
    Model::load(&model_folder(name), placement()).unwrap()
}

pub(crate) fn population(model: &Model, name: &str, adapters: &[&str]) -> Population {
    let folders: Vec<_> = adapters.iter().map(|adapter| adapter_folder(name, adapter)).collect();
    read_population(&folders, &model.config, device()).unwrap()
}

pub(crate) struct Golden(Checkpoint);

impl Golden {
    pub(crate) fn of(model: &str) -> Self {
        Self(Checkpoint::from_file(&folder().join("golden").join(format!("{model}.safetensors"))).unwrap())
    }

    pub(crate) fn tensor(&self, name: &str) -> Tensor {
        self.0.read(name).unwrap().values
    }

    pub(crate) fn floats(&self, name: &str) -> Vec<f32> {
        Vec::try_from(self.tensor(name)).unwrap()
    }

    pub(crate) fn ids(&self, name: &str) -> Vec<i64> {
        Vec::try_from(self.tensor(name)).unwrap()
    }

    pub(crate) fn sequences(&self) -> Vec<Vec<i64>> {
        (0..SEQUENCES).map(|index| self.ids(&format!("ids/{index}"))).collect()
    }
}

/// Largest absolute difference.
pub(crate) fn difference(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(l, r)| (l - r).abs()).fold(0.0, f32::max)
}
