//! Adapters whose modules differ in rank or scaling, or that leave out modules of some layers, as adapters of one rank and scaling
//! with all modules that compute the same.
//!
//! A factor of lower rank is padded with zeros, which add nothing to B·A; B takes up the ratio of the scalings. A module that is left
//! out has factors of zeros, which no step of learning changes.

use std::collections::HashMap;

use lyceum_core::work::Projection;
use regex::{Regex, RegexBuilder};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value};

use super::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS, key};

/// Layers of the deepest base, where it is not known which one.
const MAX_LAYERS: usize = 1_000;

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
    inputs: usize,
    outputs: usize,
    is_left_out: bool,
    rank: usize,
    scaling: f64,
}

impl AdapterFiles {
    /// The same adapter without patterns and with all modules of `layers` layers, or of as many as it has: of the largest rank, in
    /// fp32. One to which that changes nothing stays as it is.
    ///
    /// # Errors
    /// The file of which a part is malformed or does not fit, and the problem.
    pub fn without_patterns(self, layers: Option<usize>) -> Result<Self, (&'static str, String)> {
        let in_config = |reason: String| (CONFIG, reason);
        let in_weights = |reason: String| (WEIGHTS, reason);
        let config = AdapterConfig::parse(&self.config).map_err(in_config)?;
        if !config.is_uneven() {
            return Ok(self);
        }
        let tensors = SafeTensors::deserialize(&self.weights)
            .map_err(|error| in_weights(format!("not a complete safetensors file ({error})")))?;
        let adapted = adapted(&tensors);
        let modules = modules(&config, &tensors, &adapted, layers).map_err(in_config)?;
        let rank = modules.iter().map(|module| module.rank).max().unwrap_or_default();
        let plain = config.plain(rank, &adapted);
        if !config.has_patterns() && !modules.iter().any(|module| module.is_left_out) {
            let config = serde_json::to_vec_pretty(&plain).map_err(|error| in_config(error.to_string()))?;
            return Ok(Self { config, ..self });
        }
        // A few factors may be filled up with many zeros.
        let numbers = modules.iter().map(|module| module.inputs.saturating_add(module.outputs).saturating_mul(rank));
        let bytes = numbers.fold(0_usize, usize::saturating_add).saturating_mul(size_of::<f32>());
        if bytes > AdapterFiles::LARGEST {
            return Err(in_weights(format!(
                "with all modules of {} layers in rank {rank} it would have {bytes} bytes: at most {} are valid",
                modules.len() / adapted.len().max(1),
                AdapterFiles::LARGEST
            )));
        }
        let shared = plain.scaling();
        let mut written: Vec<(String, [usize; 2], Vec<u8>)> = Vec::new();
        for module in &modules {
            for (key, side) in module.keys.iter().zip(Side::BOTH) {
                if module.is_left_out {
                    let shape = side.shape(rank, module.inputs, module.outputs);
                    written.push((key.clone(), shape, vec![0; shape[0] * shape[1] * size_of::<f32>()]));
                    continue;
                }
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

/// The projections that have factors in any layer.
fn adapted(tensors: &SafeTensors<'_>) -> Vec<Projection> {
    let names = tensors.names();
    let is_there = |projection: &Projection| {
        let end = format!(".{}.{projection}.lora_A.weight", projection.block());
        names.iter().any(|name| name.ends_with(&end))
    };
    Projection::ALL.into_iter().filter(is_there).collect()
}

/// The modules of an adapter, those that it leaves out among them if its configuration says that it does.
fn modules(
    config: &AdapterConfig,
    tensors: &SafeTensors<'_>,
    adapted: &[Projection],
    layers: Option<usize>,
) -> Result<Vec<Module>, String> {
    let has = |layer: usize, projection| tensors.tensor(&key(layer, projection, 'A')).is_ok();
    let names = tensors.names();
    let numbers =
        names.iter().filter_map(|name| name.split(".layers.").nth(1)?.split('.').next()?.parse::<usize>().ok());
    let last = numbers.max().unwrap_or_default();
    let most = layers.unwrap_or(MAX_LAYERS);
    if last >= most {
        return Err(format!("{WEIGHTS} has a tensor of layer {last}, of a base with at most {most} layers"));
    }
    let layers = layers.unwrap_or(last + 1);
    let sizes = |layer, projection| {
        let size =
            |factor, side: usize| tensors.tensor(&key(layer, projection, factor)).ok()?.shape().get(side).copied();
        Some((size('A', 1)?, size('B', 0)?))
    };
    let of_any = |&projection: &Projection| (0..layers).find_map(|layer| sizes(layer, projection)).unwrap_or_default();
    let of_any: Vec<(usize, usize)> = adapted.iter().map(of_any).collect();
    let ranks = Pattern::read("rank_pattern", config.rank_pattern.as_ref())?;
    let alphas = Pattern::read("alpha_pattern", config.alpha_pattern.as_ref())?;
    let mut modules = Vec::new();
    for layer in 0..layers {
        for (&projection, &of_any) in adapted.iter().zip(&of_any) {
            let keys = ['A', 'B'].map(|factor| key(layer, projection, factor));
            let is_there = has(layer, projection);
            if is_there != config.adapts(layer).unwrap_or(is_there) {
                let (there, listed) = if is_there { ("has", "does not list") } else { ("lacks", "lists") };
                return Err(format!(
                    "`layers_to_transform` {listed} layer {layer}, and {WEIGHTS} {there} factors of `{projection}` in it"
                ));
            }
            if !is_there && !config.leaves_out() {
                continue;
            }
            let path = format!("model.layers.{layer}.{}.{projection}", projection.block());
            let rank = ranks.of(&path).unwrap_or(config.r as f64);
            if rank.fract() != 0.0 || !(1.0..=65_536.0).contains(&rank) {
                return Err(format!("the rank of `{path}` is {rank}; a whole number from 1 is valid"));
            }
            let alpha = alphas.of(&path).unwrap_or(config.lora_alpha);
            let (inputs, outputs) = sizes(layer, projection).unwrap_or(of_any);
            modules.push(Module {
                keys,
                inputs,
                outputs,
                is_left_out: !is_there,
                rank: rank as usize,
                scaling: alpha / if config.use_rslora { rank.sqrt() } else { rank },
            });
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

    fn shape(self, rank: usize, inputs: usize, outputs: usize) -> [usize; 2] {
        match self {
            Self::A => [rank, inputs],
            Self::B => [outputs, rank],
        }
    }

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
