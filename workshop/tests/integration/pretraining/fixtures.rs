//! Samples and models for the tests.

use std::path::{Path, PathBuf};

use lyceum_core::work::Dtype;
use lyceum_engine::learn::AdamW;
use lyceum_engine::{Model, ModelConfig, Placement};
use lyceum_workshop::pretrain::{PackedBatch, PackedSample, RowPacker, WeightedTokens};

/// The engine's checkpoints.
pub(crate) fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/engine/tests/fixtures/models")
}

/// fp32 on `LYCEUM_TEST_DEVICE`, or on the CPU.
pub(crate) fn placement() -> Placement {
    let asked = std::env::var("LYCEUM_TEST_DEVICE").unwrap_or_else(|_| "cpu".to_owned());
    Placement::new(&asked, Dtype::Fp32).unwrap()
}

pub(crate) fn model() -> Model {
    Model::load(&models().join("qwen2-tied"), placement()).unwrap()
}

pub(crate) fn tokens(ids: &[i64], weights: &[f32]) -> WeightedTokens {
    WeightedTokens { ids: ids.to_vec(), weights: weights.to_vec() }
}

/// A sample that teaches a fixed answer.
pub(crate) fn lesson(number: i64) -> PackedSample {
    PackedSample {
        prefix: tokens(&[1, number, 2], &[0.0; 3]),
        branches: vec![
            tokens(&[3, number + 1, 5], &[0.0, 1.0, 1.0]),
            tokens(&[4, number + 2, 6, 7], &[0.0, 1.0, 0.5, 0.0]),
        ],
    }
}

pub(crate) fn packed(samples: &[PackedSample], rows: usize, length: usize, config: &ModelConfig) -> PackedBatch {
    let mut packer = RowPacker::new(rows, length);
    for sample in samples {
        packer.push(sample.clone()).unwrap();
    }
    packer.finish(config, placement()).unwrap()
}

pub(crate) fn optimizer() -> AdamW {
    AdamW { learning_rate: 1e-2, beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.05 }
}
