//! The committed checkpoints and adapters.

use std::path::{Path, PathBuf};

use lyceum_core::work::Dtype;
use lyceum_engine::peft::read_population;
use lyceum_engine::{Model, Placement, Population};

use crate::device::{device, placement};

pub(crate) const STACKED: [&str; 3] = ["all-0", "all-1", "all-2"];

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub(crate) fn model(name: &str, dtype: Dtype) -> Model {
    let placement = Placement { dtype, ..placement() };
    Model::load(&folder().join("models").join(name), placement).unwrap()
}

pub(crate) fn population(model: &Model, name: &str, adapters: &[&str]) -> Population {
    let of_model = folder().join("adapters").join(name);
    let folders: Vec<_> = adapters.iter().map(|adapter| of_model.join(adapter)).collect();
    read_population(&folders, &model.config, device()).unwrap()
}

/// Largest absolute difference.
pub(crate) fn difference(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(l, r)| (l - r).abs()).fold(0.0, f32::max)
}
