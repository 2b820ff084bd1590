//! Writes tensors to a safetensors file.

use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};

/// Writes tensors of type F32, BF16, F16, F64 or I64 under their names. The same tensors give the same bytes.
///
/// # Errors
/// A tensor of another type, or a file that cannot be written.
pub fn write_safetensors(path: &Path, tensors: &[(String, Tensor)], metadata: HashMap<String, String>) -> Result<()> {
    let stored = tensors.iter().map(|(name, tensor)| {
        let dtype = match tensor.kind() {
            Kind::Float => Dtype::F32,
            Kind::BFloat16 => Dtype::BF16,
            Kind::Half => Dtype::F16,
            Kind::Double => Dtype::F64,
            Kind::Int64 => Dtype::I64,
            other => {
                let problem = format!("is of type {other:?}, which cannot be written");
                return Err(EngineError::tensor(path, name, problem));
            }
        };
        let tensor = tensor.f_detach()?.f_to_device(Device::Cpu)?.f_contiguous()?;
        let mut bytes = vec![0; tensor.numel() * tensor.kind().elt_size_in_bytes()];
        tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
        let shape: Vec<usize> = tensor.size().iter().map(|&size| size as usize).collect();
        Ok((name.as_str(), dtype, shape, bytes))
    });
    let stored = stored.collect::<Result<Vec<_>>>()?;
    let refuse = |error: safetensors::SafeTensorError| EngineError::file(path, error.to_string());
    let views = stored
        .iter()
        .map(|(name, dtype, shape, bytes)| Ok((*name, TensorView::new(*dtype, shape.clone(), bytes)?)))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(refuse)?;
    safetensors::serialize_to_file(views, Some(metadata), path).map_err(refuse)
}
