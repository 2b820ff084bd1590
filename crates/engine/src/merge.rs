//! An adapter merged into its base: a model folder that computes what base and adapter compute together.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use tch::{Kind, Tensor};

use crate::config::ModelConfig;
use crate::error::{EngineError, Result};
use crate::peft::{Adapter, require_new};
use crate::population::Projection;
use crate::weights::{Checkpoint, write_safetensors};

/// Writes the base with `W + scaling · B A` in place of each adapted W to `output`, as peft's `merge_and_unload` does:
/// the product and the sum in fp32, the result in the base's own type. Files keep their names and their tensors;
/// everything that is not weights is copied.
pub fn merge(base: &Path, adapter: &Path, output: &Path) -> Result<()> {
    let config = ModelConfig::from_folder(base)?;
    let adapter = Adapter::read(adapter, &config)?;
    let checkpoint = Checkpoint::from_model_folder(base)?;
    require_new(output)?;
    std::fs::create_dir_all(output).map_err(|source| EngineError::io(output, source))?;
    copy_all_but_weights(base, output)?;

    let mut files: BTreeMap<String, Vec<(String, Tensor)>> = BTreeMap::new();
    let names: Vec<String> = checkpoint.names().map(str::to_owned).collect();
    for name in names {
        let stored = checkpoint.read(&name)?;
        let file = stored
            .path
            .file_name()
            .map(|file| file.to_string_lossy().into_owned())
            .unwrap_or_default();
        let values = merged(&name, stored.values, &adapter)?;
        files.entry(file).or_default().push((name, values));
    }
    for (file, tensors) in files {
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        write_safetensors(&output.join(file), &tensors, metadata)?;
    }
    Ok(())
}

fn merged(name: &str, weight: Tensor, adapter: &Adapter) -> Result<Tensor> {
    let Some(factors) = projection_of(name).and_then(|(layer, projection)| adapter.layers.get(layer)?.get(projection))
    else {
        return Ok(weight);
    };
    let delta = factors.b.f_matmul(&factors.a)?.f_mul_scalar(adapter.shape.scaling())?;
    Ok(weight.f_to_kind(Kind::Float)?.f_add(&delta)?.f_to_kind(weight.kind())?)
}

/// Layer and projection of `model.layers.{layer}.{block}.{projection}.weight`.
fn projection_of(name: &str) -> Option<(usize, Projection)> {
    let rest = name.strip_prefix("model.layers.")?.strip_suffix(".weight")?;
    let (layer, path) = rest.split_once('.')?;
    let (_, module) = path.split_once('.')?;
    Some((layer.parse().ok()?, module.parse().ok()?))
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
