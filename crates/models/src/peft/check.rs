//! Adapters that others made: what is checked before members may begin with one.

use lyceum_core::work::{LoraShape, Projection};
use safetensors::SafeTensors;

use super::pattern::values;
use super::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS, key};
use crate::config::ModelConfig;
use crate::weights::{POINTER, is_pointer};

/// A file of an adapter, and what is wrong with it.
pub type Refusal = (&'static str, String);

impl AdapterFiles {
    /// The base that the configuration names.
    ///
    /// # Errors
    /// The configuration is not one of an adapter.
    pub fn base_model(&self) -> Result<Option<String>, Refusal> {
        Ok(self.read_config()?.base_model_name_or_path)
    }

    /// The adapter as members of a population on `base_model` begin with it, and its shape. Its weights stay as they are, unless
    /// modules differ in rank or scaling ([`without_patterns`](Self::without_patterns)); its configuration is that of an adapter
    /// made here, so that adapters of one base can be crossed. Sizes are compared with `base`, if it is known.
    ///
    /// # Errors
    /// It uses what is not supported, a tensor is missing or unknown, has another size than the configuration or the base says,
    /// or holds NaN or infinity.
    pub fn adopted(self, base_model: &str, base: Option<&ModelConfig>) -> Result<(Self, LoraShape), Refusal> {
        if is_pointer(&self.weights) {
            return Err((WEIGHTS, POINTER.to_owned()));
        }
        let plain = self.without_patterns(base.map(|base| base.num_hidden_layers))?;
        let config = plain.read_config()?;
        let in_weights = |reason: String| (WEIGHTS, reason);
        let tensors = SafeTensors::deserialize(&plain.weights)
            .map_err(|error| in_weights(format!("not a complete safetensors file ({error})")))?;
        let has = |layer, projection| tensors.tensor(&key(layer, projection, 'A')).is_ok();
        let shape = config.shape_of(tensors.names().into_iter()).map_err(|reason| (CONFIG, reason))?;
        let layers = match base {
            Some(base) => base.num_hidden_layers,
            None => (0..).take_while(|&layer| shape.target_modules.iter().any(|&one| has(layer, one))).count(),
        };
        for &projection in &shape.target_modules {
            let mut sizes = base.map(|base| base.projection_sizes(projection));
            for layer in 0..layers {
                let found = module(&tensors, layer, projection, shape.r).map_err(in_weights)?;
                let (inputs, outputs) = *sizes.get_or_insert(found);
                if found != (inputs, outputs) {
                    let reason = format!(
                        "the module of `{}` has {} inputs and {} outputs; {inputs} and {outputs} are those of the base, so the \
                         adapter belongs to another",
                        key(layer, projection, 'A'),
                        found.0,
                        found.1
                    );
                    return Err(in_weights(reason));
                }
            }
        }
        // Every known tensor was found, so that any further one is not known.
        if tensors.len() > 2 * layers * shape.target_modules.len() {
            let is_known = |name: &str| {
                let modules = (0..layers).flat_map(|layer| shape.target_modules.iter().map(move |&one| (layer, one)));
                let mut keys = modules.flat_map(|(layer, one)| ['A', 'B'].map(|factor| key(layer, one, factor)));
                keys.any(|known| known == name)
            };
            let stray = tensors.names().into_iter().find(|name| !is_known(name)).unwrap_or_default();
            let reason = format!(
                "tensor `{stray}` is not part of a LoRA adapter for a base of {layers} layers; it belongs to another base or an \
                 unsupported method"
            );
            return Err(in_weights(reason));
        }
        let config = serde_json::to_vec_pretty(&AdapterConfig::new(&shape, base_model))
            .map_err(|error| (CONFIG, error.to_string()))?;
        let weights = plain.weights;
        Ok((Self { config, weights }, shape))
    }

    fn read_config(&self) -> Result<AdapterConfig, Refusal> {
        AdapterConfig::parse(&self.config).map_err(|reason| (CONFIG, reason))
    }
}

/// The inputs and outputs of a module whose factors are of rank `r` and finite.
fn module(tensors: &SafeTensors<'_>, layer: usize, projection: Projection, r: u32) -> Result<(i64, i64), String> {
    let factor = |which| {
        let key = key(layer, projection, which);
        let tensor = tensors.tensor(&key).map_err(|_| format!("tensor `{key}` is missing"))?;
        let &[rows, columns] = tensor.shape() else {
            return Err(format!("tensor `{key}` has shape {:?}; a matrix is expected", tensor.shape()));
        };
        let rank = if which == 'A' { rows } else { columns };
        if rank != r as usize {
            return Err(format!(
                "tensor `{key}` has shape [{rows}, {columns}]; expected rank {r} from the configuration"
            ));
        }
        let numbers = values(&tensor).map_err(|problem| format!("tensor `{key}` {problem}"))?;
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(format!("tensor `{key}` holds NaN or infinity"));
        }
        Ok(if which == 'A' { columns } else { rows } as i64)
    };
    Ok((factor('A')?, factor('B')?))
}

#[cfg(test)]
mod tests;
