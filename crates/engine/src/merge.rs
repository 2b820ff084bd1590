//! Merges an adapter into its base, giving a model folder that computes the same as base plus adapter.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use lyceum_core::work::Projection;
use tch::{Kind, Tensor};

use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::peft::{Adapter, require_new};
use crate::weights::{Checkpoint, CheckpointTensor, is_finite, write_safetensors};

/// Writes the base to `output` with each adapted W replaced by `W + scaling · B A`, like peft's `merge_and_unload`:
/// product and sum in fp32, the result in the base's own type. Files keep their names and tensors; all other files are
/// copied. Nothing is written if the base lacks an adapted weight.
pub fn merge(base: &Path, adapter: &Path, output: &Path) -> Result<()> {
    let config = ModelConfig::from_folder(base)?;
    let adapter = Adapter::read(adapter, &config)?;
    let checkpoint = Checkpoint::from_model_folder(base)?;
    require_new(output)?;
    for (layer, factors) in adapter.layers.iter().enumerate() {
        for (projection, _) in factors.iter() {
            checkpoint.require(&name_of(layer, projection))?;
        }
    }

    let mut files: BTreeMap<String, Vec<(String, Tensor)>> = BTreeMap::new();
    let names: Vec<String> = checkpoint.names().map(str::to_owned).collect();
    for name in names {
        let stored = checkpoint.read(&name)?;
        let file = stored.path.file_name().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
        let values = merged(&name, stored, &adapter)?;
        files.entry(file).or_default().push((name, values));
    }
    std::fs::create_dir_all(output).map_err(|source| EngineError::io(output, source))?;
    copy_all_but_weights(base, output)?;
    for (file, tensors) in files {
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        write_safetensors(&output.join(file), &tensors, metadata)?;
    }
    Ok(())
}

fn merged(name: &str, stored: CheckpointTensor, adapter: &Adapter) -> Result<Tensor> {
    let CheckpointTensor { values: weight, path } = stored;
    let Some(factors) = projection_of(name).and_then(|(layer, projection)| adapter.layers.get(layer)?.get(projection))
    else {
        return Ok(weight);
    };
    let refuse = |problem: String| Err(EngineError::tensor(&path, name, problem));
    if !weight.is_floating_point() {
        return refuse(format!("is {:?}; only F32, BF16, F16 or F64 can be merged into", weight.kind()));
    }
    let delta = factors.b.f_matmul(&factors.a)?.f_mul_scalar(adapter.shape.scaling())?;
    if weight.size() != delta.size() {
        return refuse(format!("has shape {:?}; expected {:?} from the configuration", weight.size(), delta.size()));
    }
    if !is_finite(&weight)? {
        return refuse("holds NaN or infinity, which cannot be merged into".to_owned());
    }
    let sum = weight.f_to_kind(Kind::Float)?.f_add(&delta)?.f_to_kind(weight.kind())?;
    if !is_finite(&sum)? {
        return refuse(format!("is no longer finite in {:?} with the adapter merged into it", weight.kind()));
    }
    Ok(sum)
}

/// The name of a projection's weight.
fn name_of(layer: usize, projection: Projection) -> String {
    format!("model.layers.{layer}.{}.{projection}.weight", projection.block())
}

/// Layer and projection of such a name.
fn projection_of(name: &str) -> Option<(usize, Projection)> {
    let rest = name.strip_prefix("model.layers.")?;
    let layer = rest.split_once('.')?.0.parse().ok()?;
    let projection = Projection::ALL.into_iter().find(|&projection| name_of(layer, projection) == name)?;
    Some((layer, projection))
}

fn copy_all_but_weights(base: &Path, output: &Path) -> Result<()> {
    for entry in std::fs::read_dir(base).map_err(|source| EngineError::io(base, source))? {
        let path = entry.map_err(|source| EngineError::io(base, source))?.path();
        if path.is_file() && path.extension().is_none_or(|extension| extension != "safetensors") {
            let target = output.join(path.file_name().unwrap_or_default());
            std::fs::copy(&path, target).map_err(|source| EngineError::io(&path, source))?;
        }
    }
    Ok(())
}
