//! Writing adapter folders.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use tch::{Device, Kind, Tensor};

use super::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS, key};
use crate::error::{EngineError, Result};
use crate::population::Population;

/// Writes one member as a PEFT adapter folder, in fp32. The same weights give the same bytes.
pub fn write_member(population: &Population, member: usize, base: &str, folder: &Path) -> Result<()> {
    Ok(member_files(population, member, base)?.write(folder)?)
}

/// One member's PEFT files, in fp32. The same weights give the same bytes.
pub fn member_files(population: &Population, member: usize, base: &str) -> Result<AdapterFiles> {
    let mut tensors = Vec::new();
    for (index, layer) in population.member(member)?.iter().enumerate() {
        for (projection, factors) in layer.iter() {
            tensors.push(stored(key(index, projection, 'A'), &factors.a)?);
            tensors.push(stored(key(index, projection, 'B'), &factors.b)?);
        }
    }
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(|error| EngineError::file(WEIGHTS, error.to_string()))?;
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let weights =
        safetensors::serialize(views, Some(metadata)).map_err(|error| EngineError::file(WEIGHTS, error.to_string()))?;
    let config = AdapterConfig::new(&population.shape, base);
    let text = serde_json::to_string_pretty(&config).map_err(|error| EngineError::file(CONFIG, error.to_string()))?;
    Ok(AdapterFiles {
        config: (text + "\n").into_bytes(),
        weights,
    })
}

fn stored(name: String, tensor: &Tensor) -> Result<(String, Vec<usize>, Vec<u8>)> {
    let tensor = tensor
        .f_detach()?
        .f_to_device(Device::Cpu)?
        .f_to_kind(Kind::Float)?
        .f_contiguous()?;
    let mut bytes = vec![0; tensor.numel() * size_of::<f32>()];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok((name, tensor.size().iter().map(|&size| size as usize).collect(), bytes))
}
