//! Safetensors files, single or sharded, read by name with every shape checked.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorView};
use serde::Deserialize;
use tch::{Device, Kind, Tensor};

use crate::config::read_json;
use crate::device::Placement;
use crate::error::{EngineError, Result};

/// Open safetensors files. Tensors are read and checked one at a time, so a large model is never in memory twice.
pub struct Checkpoint {
    /// Path named in errors about missing tensors.
    origin: PathBuf,
    shards: Vec<Shard>,
    /// Tensor name to index of its shard.
    names: BTreeMap<String, usize>,
}

struct Shard {
    path: PathBuf,
    bytes: Mmap,
    header: usize,
    metadata: Metadata,
}

/// A tensor read from a checkpoint, with its file.
pub struct CheckpointTensor {
    /// The values as stored, on the CPU.
    pub values: Tensor,
    /// The file that holds it.
    pub path: PathBuf,
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

impl Checkpoint {
    /// The weights of a Hugging Face model folder: `model.safetensors`, or the shards of
    /// `model.safetensors.index.json`.
    pub fn from_model_folder(folder: &Path) -> Result<Self> {
        lyceum_models::weights::files(folder)?;
        let index = folder.join("model.safetensors.index.json");
        let single = folder.join("model.safetensors");
        if single.exists() || !index.exists() {
            return Self::from_file(&single);
        }
        let Index { weight_map } = read_json(&index)?;
        let mut files: Vec<&String> = weight_map.values().collect();
        files.sort();
        files.dedup();
        let shards = files.iter().map(|file| Shard::open(&folder.join(file))).collect::<Result<Vec<_>>>()?;
        let mut names = BTreeMap::new();
        for (name, file) in &weight_map {
            let Ok(shard) = files.binary_search(&file) else { continue };
            if shards[shard].metadata.info(name).is_none() {
                return Err(EngineError::tensor(
                    &shards[shard].path,
                    name,
                    "is missing, though the index lists it here",
                ));
            }
            names.insert(name.clone(), shard);
        }
        Ok(Self { origin: index, shards, names })
    }

    /// One safetensors file.
    pub fn from_file(path: &Path) -> Result<Self> {
        let shard = Shard::open(path)?;
        let names = shard.metadata.tensors().into_keys().map(|name| (name, 0)).collect();
        Ok(Self { origin: path.to_owned(), shards: vec![shard], names })
    }

    /// Names of all tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.keys().map(String::as_str)
    }

    /// Whether a tensor of this name exists.
    pub fn contains(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Fails if the tensor does not exist.
    pub fn require(&self, name: &str) -> Result<()> {
        self.shard_of(name).map(drop)
    }

    fn shard_of(&self, name: &str) -> Result<&Shard> {
        match self.names.get(name) {
            Some(&shard) => Ok(&self.shards[shard]),
            None => Err(EngineError::tensor(&self.origin, name, "is missing")),
        }
    }

    /// Reads a tensor as it is stored.
    pub fn read(&self, name: &str) -> Result<CheckpointTensor> {
        let shard = self.shard_of(name)?;
        Ok(CheckpointTensor { values: shard.read(name)?, path: shard.path.clone() })
    }

    /// Reads a tensor, checks its shape, and converts and moves it to `placement`; the converted values must be finite,
    /// too.
    pub fn tensor(&self, name: &str, shape: &[i64], placement: Placement) -> Result<Tensor> {
        let CheckpointTensor { values, path } = self.read(name)?;
        if values.size() != shape {
            return Err(EngineError::tensor(
                &path,
                name,
                format!("has shape {:?}; expected {shape:?} from the configuration", values.size()),
            ));
        }
        let stored = values.f_to_device(placement.device)?;
        let values = stored.f_to_kind(placement.kind())?;
        if is_finite(&values)? {
            return Ok(values);
        }
        let problem = if is_finite(&stored)? {
            format!(
                "holds {:e}, which is too large for {}",
                stored.f_abs()?.f_max()?.f_double_value(&[])?,
                placement.dtype
            )
        } else {
            "holds NaN or infinity".to_owned()
        };
        Err(EngineError::tensor(&path, name, problem))
    }
}

/// Whether every element is finite. Checks the extremes, as a sum of absolute values could overflow.
pub(crate) fn is_finite(values: &Tensor) -> Result<bool> {
    if values.numel() == 0 {
        return Ok(true);
    }
    let (low, high) = values.f_aminmax(None, false)?;
    Ok(low.f_double_value(&[])?.is_finite() && high.f_double_value(&[])?.is_finite())
}

impl Shard {
    fn open(path: &Path) -> Result<Self> {
        lyceum_models::refuse_pointer(path)?;
        let file = File::open(path).map_err(|source| EngineError::io(path, source))?;
        // SAFETY: the map is read-only. It would fault if another process truncated the file while it is mapped, but
        // model files are never modified after they are written.
        let bytes = unsafe { Mmap::map(&file) }.map_err(|source| EngineError::io(path, source))?;
        // Also checks that header and data are complete.
        SafeTensors::deserialize(&bytes).map_err(|error| malformed(path, &error, bytes.len()))?;
        let (header, metadata) =
            SafeTensors::read_metadata(&bytes).map_err(|error| malformed(path, &error, bytes.len()))?;
        // The data begins after the eight-byte header length and the header.
        Ok(Self { path: path.to_owned(), bytes, header: header + 8, metadata })
    }

    fn read(&self, name: &str) -> Result<Tensor> {
        let info = self.metadata.info(name).ok_or_else(|| EngineError::tensor(&self.path, name, "is missing"))?;
        let kind = match info.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::BF16 => Kind::BFloat16,
            Dtype::F16 => Kind::Half,
            Dtype::F64 => Kind::Double,
            Dtype::I64 => Kind::Int64,
            other => {
                let problem = format!("is of type {other:?}; supported: F32, BF16, F16, F64 and I64");
                return Err(EngineError::tensor(&self.path, name, problem));
            }
        };
        let (start, end) = info.data_offsets;
        let shape: Vec<i64> = info.shape.iter().map(|&size| size as i64).collect();
        Ok(Tensor::f_from_data_size(&self.bytes[self.header + start..self.header + end], &shape, kind)?)
    }
}

fn malformed(path: &Path, error: &safetensors::SafeTensorError, length: usize) -> EngineError {
    EngineError::file(path, format!("not a complete safetensors file ({error}; the file has {length} bytes)"))
}

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
