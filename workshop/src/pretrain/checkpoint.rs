//! Weights and optimizer of a training run on disk.

use std::path::Path;

use lyceum_engine::error::{EngineError, Result};
use lyceum_engine::learn::{OptimizerState, TrainedTensor};
use lyceum_engine::weights::{Checkpoint, write_safetensors};

const WEIGHTS: &str = "weights.safetensors";

/// Writes both into `folder`.
pub(super) fn save(trained: &[TrainedTensor], state: &OptimizerState, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|source| EngineError::io(folder, source))?;
    let tensors: Vec<_> = trained
        .iter()
        .map(|tensor| (tensor.name.clone(), tensor.values.shallow_clone()))
        .collect();
    write_safetensors(&folder.join(WEIGHTS), &tensors, Default::default())?;
    state.write_member(0, folder)
}

/// Copies the weights in a folder into `trained` and returns the optimizer's state.
pub(super) fn restore(trained: &[TrainedTensor], folder: &Path) -> Result<OptimizerState> {
    let path = folder.join(WEIGHTS);
    let file = Checkpoint::from_file(&path)?;
    for tensor in trained {
        let stored = file.read(&tensor.name)?.values;
        let mut values = tensor.values.shallow_clone();
        if stored.size() != values.size() {
            let problem = format!("has shape {:?}; the model's is {:?}", stored.size(), values.size());
            return Err(EngineError::tensor(&path, &tensor.name, problem));
        }
        values.f_copy_(&stored)?;
    }
    OptimizerState::read(&[Some(folder.to_owned())], trained)
}
