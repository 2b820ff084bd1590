//! Reading and writing adapter folders in peft's format, restricted to what vLLM accepts.

pub use lyceum_models::peft::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS};
pub(crate) use lyceum_models::peft::{key, require_new};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lyceum_core::work::LoraShape;
use lyceum_models::peft::{PICKLE, PICKLED};
use safetensors::tensor::{Dtype, TensorView};
use tch::{Device, Kind, Tensor};

use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::population::{Factors, LayerFactors, Population};
use crate::weights::Checkpoint;

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
    Ok(AdapterFiles { config: (text + "\n").into_bytes(), weights })
}

fn stored(name: String, tensor: &Tensor) -> Result<(String, Vec<usize>, Vec<u8>)> {
    let tensor = tensor.f_detach()?.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?.f_contiguous()?;
    let mut bytes = vec![0; tensor.numel() * size_of::<f32>()];
    tensor.f_copy_data_u8(&mut bytes, tensor.numel())?;
    Ok((name, tensor.size().iter().map(|&size| size as usize).collect(), bytes))
}

/// One adapter as read from its folder, in fp32 on the CPU.
#[derive(Debug)]
pub struct Adapter {
    /// The folder it was read from.
    pub folder: PathBuf,
    /// Its configuration file.
    pub config: AdapterConfig,
    /// Its shape.
    pub shape: LoraShape,
    /// A `[r, in]` and B `[out, r]` by layer and projection.
    pub layers: Vec<LayerFactors>,
}

impl Adapter {
    /// Reads an adapter and checks every tensor against the base.
    pub fn read(folder: &Path, base: &ModelConfig) -> Result<Self> {
        let file = folder.join(CONFIG);
        let config = std::fs::read(&file).map_err(|source| EngineError::io(&file, source))?;
        let config = AdapterConfig::parse(&config).map_err(|reason| EngineError::file(&file, reason))?;
        if config.is_uneven() {
            return Self::read_patterned(folder, base);
        }
        let path = folder.join(WEIGHTS);
        if !path.exists() && folder.join(PICKLE).exists() {
            return Err(EngineError::file(folder, PICKLED));
        }
        let weights = Checkpoint::from_file(&path)?;
        let shape = config.shape_of(weights.names()).map_err(|reason| EngineError::file(file, reason))?;
        let mut expected = Vec::new();
        let mut layers = Vec::with_capacity(base.num_hidden_layers);
        for index in 0..base.num_hidden_layers {
            let mut layer = LayerFactors::default();
            for &projection in &shape.target_modules {
                let (inputs, outputs) = base.projection_sizes(projection);
                let rank = i64::from(shape.r);
                let mut factor = |which, size: [i64; 2]| {
                    let name = key(index, projection, which);
                    let tensor = weights.tensor(&name, &size, Placement::REFERENCE);
                    expected.push(name);
                    tensor
                };
                let factors = Factors { a: factor('A', [rank, inputs])?, b: factor('B', [outputs, rank])? };
                layer.insert(projection, factors);
            }
            layers.push(layer);
        }
        if let Some(stray) = weights.names().find(|name| !expected.iter().any(|known| known == name)) {
            let problem = format!(
                "is not part of a LoRA adapter for a base of {} layers; it belongs to another base or an unsupported method",
                base.num_hidden_layers
            );
            return Err(EngineError::tensor(folder.join(WEIGHTS), stray, problem));
        }
        Ok(Self { folder: folder.to_owned(), config, shape, layers })
    }
}

impl Adapter {
    /// Reads an adapter of which modules differ in rank or scaling, by way of one of which they do not.
    fn read_patterned(folder: &Path, base: &ModelConfig) -> Result<Self> {
        let plain = AdapterFiles::read(folder)?.without_patterns(Some(base.num_hidden_layers));
        let plain = plain.map_err(|(file, reason)| EngineError::file(folder.join(file), reason))?;
        let place = tempfile::tempdir().map_err(|source| EngineError::io(std::env::temp_dir(), source))?;
        plain.write(place.path())?;
        let read = Self::read(place.path(), base)?;
        Ok(Self { folder: folder.to_owned(), ..read })
    }
}

/// Reads adapters of the same shape and stacks them, in fp32, in the order given.
pub fn read_population(folders: &[PathBuf], base: &ModelConfig, device: Device) -> Result<Population> {
    let adapters = folders.iter().map(|folder| Adapter::read(folder, base)).collect::<Result<Vec<_>>>()?;
    let Some(first) = adapters.first() else {
        return Err(EngineError::population("a population needs at least one adapter"));
    };
    if let Some(other) = adapters.iter().find(|adapter| adapter.shape != first.shape) {
        return Err(EngineError::file(
            other.folder.join(CONFIG),
            format!(
                "the adapter's shape is {}, but that of {} is {}; all members of a population share one shape",
                other.shape,
                first.folder.display(),
                first.shape
            ),
        ));
    }
    let shape = first.shape.clone();
    let layers: Vec<Vec<LayerFactors>> = adapters.into_iter().map(|adapter| adapter.layers).collect();
    let stacked = Population::stack(shape, &layers)?;
    stacked.to(device, Kind::Float).map_err(|error| {
        error.if_out_of_memory(device, || {
            format!(
                "{} adapters of {} parameters each do not fit; fewer members at a time or a lower rank would",
                stacked.members(),
                stacked.parameters_per_member()
            )
        })
    })
}
