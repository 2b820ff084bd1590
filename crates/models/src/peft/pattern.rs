//! Adapters whose modules differ in rank or scaling, as adapters of one rank and scaling that compute the same.
//!
//! A factor of lower rank is padded with zeros, which add nothing to B·A; B takes up the ratio of the scalings.

use std::collections::HashMap;

use lyceum_core::work::Projection;
use regex::{Regex, RegexBuilder};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value};

use super::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS, key};

/// Bytes that a compiled pattern may have.
const MAX_PATTERN: usize = 1 << 16;

/// `rank_pattern` or `alpha_pattern`: a number for the modules whose path ends in a match of a regular expression.
pub(super) struct Pattern(Vec<(Regex, f64)>);

impl Pattern {
    pub(super) fn read(name: &str, field: Option<&Map<String, Value>>) -> Result<Self, String> {
        let entries = field.into_iter().flatten().map(|(module, value)| {
            // As peft matches it: the whole path, or its end after a dot.
            let regex = RegexBuilder::new(&format!(r"^(?:.*\.)?(?:{module})$")).size_limit(MAX_PATTERN).build();
            let regex =
                regex.map_err(|_| format!("`{name}` has `{module}`, which is not a module or a regular expression"))?;
            let value = value.as_f64().filter(|value| value.is_finite());
            let value = value.ok_or_else(|| format!("`{name}` gives `{module}` no number"))?;
            Ok((regex, value))
        });
        entries.collect::<Result<_, String>>().map(Self)
    }

    /// The number of the first entry that matches a module.
    fn of(&self, module: &str) -> Option<f64> {
        self.0.iter().find(|(regex, _)| regex.is_match(module)).map(|(_, value)| *value)
    }
}

/// A module of the weights file, and what the configuration says of it.
struct Module {
    keys: [String; 2],
    rank: usize,
    scaling: f64,
}

impl AdapterFiles {
    /// The same adapter without patterns: of the largest rank, in fp32. One without patterns stays as it is.
    ///
    /// # Errors
    /// The file of which a part is malformed or does not fit, and the problem.
    pub fn without_patterns(self) -> Result<Self, (&'static str, String)> {
        let in_config = |reason: String| (CONFIG, reason);
        let in_weights = |reason: String| (WEIGHTS, reason);
        let config: AdapterConfig = serde_json::from_slice(&self.config)
            .map_err(|error| in_config(format!("not the expected JSON: {error}")))?;
        if !config.has_patterns() {
            return Ok(self);
        }
        let tensors = SafeTensors::deserialize(&self.weights)
            .map_err(|error| in_weights(format!("not a complete safetensors file ({error})")))?;
        let modules = modules(&config, &tensors).map_err(in_config)?;
        let rank = modules.iter().map(|module| module.rank).max().unwrap_or_default();
        let plain = config.plain(rank);
        let shared = plain.scaling();
        let mut written: Vec<(String, [usize; 2], Vec<u8>)> = Vec::new();
        for module in &modules {
            for (key, side) in module.keys.iter().zip(Side::BOTH) {
                let tensor = tensors.tensor(key).map_err(|_| in_weights(format!("tensor `{key}` is missing")))?;
                let ratio = match side {
                    Side::A => 1.0,
                    Side::B => module.scaling / shared,
                };
                let (shape, bytes) = side
                    .padded(&tensor, module.rank, rank, ratio)
                    .map_err(|problem| in_weights(format!("tensor `{key}` {problem}")))?;
                written.push((key.clone(), shape, bytes));
            }
        }
        // What is no factor is refused where an adapter is read.
        let known: Vec<&String> = modules.iter().flat_map(|module| &module.keys).collect();
        if let Some(stray) = tensors.names().into_iter().find(|name| !known.iter().any(|known| known == name)) {
            return Err(in_weights(format!("tensor `{stray}` is not part of a LoRA adapter")));
        }
        let views =
            written.iter().map(|(key, shape, bytes)| Ok((key, TensorView::new(Dtype::F32, shape.to_vec(), bytes)?)));
        let views: Vec<_> = views
            .collect::<Result<_, safetensors::SafeTensorError>>()
            .map_err(|error| in_weights(error.to_string()))?;
        let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let weights = safetensors::serialize(views, Some(metadata)).map_err(|error| in_weights(error.to_string()))?;
        let config = serde_json::to_vec_pretty(&plain).map_err(|error| in_config(error.to_string()))?;
        Ok(Self { config, weights })
    }
}

/// The modules that have factors.
fn modules(config: &AdapterConfig, tensors: &SafeTensors<'_>) -> Result<Vec<Module>, String> {
    let ranks = Pattern::read("rank_pattern", config.rank_pattern.as_ref())?;
    let alphas = Pattern::read("alpha_pattern", config.alpha_pattern.as_ref())?;
    let mut modules = Vec::new();
    for layer in 0.. {
        let before = modules.len();
        for projection in Projection::ALL {
            let keys = ['A', 'B'].map(|factor| key(layer, projection, factor));
            if tensors.tensor(&keys[0]).is_err() {
                continue;
            }
            let path = format!("model.layers.{layer}.{}.{projection}", projection.block());
            let rank = ranks.of(&path).unwrap_or(config.r as f64);
            if rank.fract() != 0.0 || !(1.0..=65_536.0).contains(&rank) {
                return Err(format!("the rank of `{path}` is {rank}; a whole number from 1 is valid"));
            }
            let alpha = alphas.of(&path).unwrap_or(config.lora_alpha);
            modules.push(Module {
                keys,
                rank: rank as usize,
                scaling: alpha / if config.use_rslora { rank.sqrt() } else { rank },
            });
        }
        if modules.len() == before {
            break;
        }
    }
    Ok(modules)
}

#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

impl Side {
    const BOTH: [Self; 2] = [Self::A, Self::B];

    /// A factor times `ratio` as fp32, with zeros so that its rank is `padded`.
    fn padded(
        self,
        tensor: &TensorView<'_>,
        rank: usize,
        padded: usize,
        ratio: f64,
    ) -> Result<([usize; 2], Vec<u8>), String> {
        let &[rows, columns] = tensor.shape() else {
            return Err(format!("has shape {:?}; a matrix is expected", tensor.shape()));
        };
        let found = match self {
            Self::A => rows,
            Self::B => columns,
        };
        if found != rank {
            return Err(format!("has shape [{rows}, {columns}]; expected rank {rank} from the configuration"));
        }
        let values = values(tensor)?;
        let shape = match self {
            Self::A => [padded, columns],
            Self::B => [rows, padded],
        };
        let mut bytes = Vec::with_capacity(shape[0] * shape[1] * size_of::<f32>());
        for row in 0..shape[0] {
            for column in 0..shape[1] {
                let value = if row < rows && column < columns { values[row * columns + column] } else { 0.0 };
                let value = if ratio == 1.0 { value } else { (f64::from(value) * ratio) as f32 };
                bytes.extend(value.to_le_bytes());
            }
        }
        Ok((shape, bytes))
    }
}

/// The numbers of a tensor.
pub(super) fn values(tensor: &TensorView<'_>) -> Result<Vec<f32>, String> {
    let bytes = tensor.data();
    let halves = || bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
    Ok(match tensor.dtype() {
        Dtype::F32 => {
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
        }
        Dtype::F16 => halves().map(|bits| half::f16::from_bits(bits).to_f32()).collect(),
        Dtype::BF16 => halves().map(|bits| half::bf16::from_bits(bits).to_f32()).collect(),
        other => return Err(format!("is of type {other:?}; supported: F32, BF16 and F16")),
    })
}

#[cfg(test)]
mod tests;
