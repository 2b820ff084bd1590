//! The sizes of a base model.

use super::saturating;
use crate::work::{LoraShape, Projection};

/// The largest size accepted from a `config.json`. Sums are computed in 128 bits, where no product of such sizes, a
/// rank up to 512 and 32-bit numbers overflows.
pub const LARGEST_SIZE: u64 = 1 << 20;

/// The sizes of a base model. Field names are those of `config.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseShape {
    /// Rows of the embedding.
    pub vocab_size: u64,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Width of the gated MLP.
    pub intermediate_size: u64,
    /// Decoder layers.
    pub num_hidden_layers: u64,
    /// Query heads.
    pub num_attention_heads: u64,
    pub num_key_value_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Whether the output projection shares the embedding's weights.
    pub tie_word_embeddings: bool,
}

impl BaseShape {
    /// The sizes in a model's `config.json`. Missing fields get the engine's defaults: as many key and value heads as
    /// query heads; a `head_dim` of 128 for Qwen3 and hidden size / heads for others.
    ///
    /// # Errors
    /// The field that is missing or not a whole number from 1 to [`LARGEST_SIZE`].
    pub fn of_config(config: &serde_json::Value) -> Result<Self, String> {
        let size = |name: &str| match config[name].as_u64() {
            Some(size @ 1..=LARGEST_SIZE) => Ok(size),
            _ => Err(format!(
                "config.json has no size `{name}`, a whole number from 1 to {LARGEST_SIZE}"
            )),
        };
        let optional = |name: &str| match config[name] {
            serde_json::Value::Null => Ok(None),
            _ => size(name).map(Some),
        };
        let (hidden_size, num_attention_heads) = (size("hidden_size")?, size("num_attention_heads")?);
        let qwen3 = match config["architectures"][0].as_str() {
            Some(architecture) => architecture == "Qwen3ForCausalLM",
            None => config["model_type"] == "qwen3",
        };
        let head_dim = match optional("head_dim")? {
            Some(head_dim) => head_dim,
            None if qwen3 => 128,
            None if hidden_size % num_attention_heads == 0 => hidden_size / num_attention_heads,
            None => {
                return Err(format!(
                    "config.json has no `head_dim`, and its `hidden_size` ({hidden_size}) is not a multiple of \
                     `num_attention_heads` ({num_attention_heads})"
                ));
            }
        };
        Ok(Self {
            vocab_size: size("vocab_size")?,
            hidden_size,
            intermediate_size: size("intermediate_size")?,
            num_hidden_layers: size("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: optional("num_key_value_heads")?.unwrap_or(num_attention_heads),
            head_dim,
            tie_word_embeddings: config["tie_word_embeddings"].as_bool().unwrap_or(false),
        })
    }

    /// Hidden size, intermediate size, layers, and tokens of the vocabulary.
    pub(super) fn dimensions(&self) -> [u128; 4] {
        [
            self.hidden_size,
            self.intermediate_size,
            self.num_hidden_layers,
            self.vocab_size,
        ]
        .map(u128::from)
    }

    /// Output widths of the q projection and the k projection.
    pub(super) fn attention_widths(&self) -> (u128, u128) {
        let width = |heads: u64| u128::from(heads) * u128::from(self.head_dim);
        (width(self.num_attention_heads), width(self.num_key_value_heads))
    }

    /// Weights of the matrices and norms; the biases, about a ten-thousandth of them, are left out.
    pub fn parameters(&self) -> u64 {
        saturating(self.weights())
    }

    pub(super) fn weights(&self) -> u128 {
        let [hidden, intermediate, layers, vocabulary] = self.dimensions();
        let (query, key) = self.attention_widths();
        let layer = hidden * (2 * query + 2 * key + 3 * intermediate + 2);
        let embeddings = vocabulary * hidden * if self.tie_word_embeddings { 1 } else { 2 };
        embeddings + layers * layer + hidden
    }

    /// Parameters of one member's adapter.
    pub fn adapter_parameters(&self, shape: &LoraShape) -> u64 {
        saturating(self.adapter_weights(shape))
    }

    pub(super) fn adapter_weights(&self, shape: &LoraShape) -> u128 {
        let (hidden, intermediate) = (u128::from(self.hidden_size), u128::from(self.intermediate_size));
        let (query, key) = self.attention_widths();
        let widths = shape.target_modules.iter().map(|projection| match projection {
            Projection::Q | Projection::O => hidden + query,
            Projection::K | Projection::V => hidden + key,
            Projection::Gate | Projection::Up | Projection::Down => hidden + intermediate,
        });
        u128::from(self.num_hidden_layers) * u128::from(shape.r) * widths.sum::<u128>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::fixtures::{attention_only, qwen_7b};

    #[test]
    fn an_adapter_of_rank_32_on_q_k_v_and_o_has_20_million_parameters() {
        assert_eq!(qwen_7b().adapter_parameters(&attention_only()), 20_185_088);
    }

    #[test]
    fn sizes_are_read_from_a_config_or_the_field_at_fault_is_named() {
        let config = serde_json::json!({
            "vocab_size": 152_064, "hidden_size": 3584, "intermediate_size": 18_944, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "tie_word_embeddings": false
        });
        assert_eq!(BaseShape::of_config(&config), Ok(qwen_7b()));
        let wrong = ["0", "-1", "1048577", "\"28\""].map(|wrong| serde_json::from_str(wrong).unwrap());
        for wrong in wrong {
            let mut config = config.clone();
            config["num_hidden_layers"] = wrong;
            let fault = BaseShape::of_config(&config).unwrap_err();
            assert!(fault.contains("`num_hidden_layers`"), "{fault}");
        }
    }

    #[test]
    fn sizes_that_are_left_out_are_those_that_the_engine_takes() {
        let config = |further: serde_json::Value| {
            let mut config = serde_json::json!({
                "vocab_size": 1000, "hidden_size": 96, "intermediate_size": 300, "num_hidden_layers": 2,
                "num_attention_heads": 4
            });
            config
                .as_object_mut()
                .unwrap()
                .extend(further.as_object().unwrap().clone());
            BaseShape::of_config(&config)
        };
        let heads = |further| config(further).map(|base| (base.num_key_value_heads, base.head_dim));
        let qwen2 = serde_json::json!({"architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": null});
        assert_eq!(heads(qwen2), Ok((4, 24)));
        let qwen3 = serde_json::json!({"architectures": ["Qwen3ForCausalLM"], "num_key_value_heads": 2});
        assert_eq!(heads(qwen3), Ok((2, 128)));
        assert_eq!(heads(serde_json::json!({"model_type": "qwen3"})), Ok((4, 128)));
        assert_eq!(
            heads(serde_json::json!({"model_type": "qwen3", "head_dim": 64})),
            Ok((4, 64))
        );
        let fault = config(serde_json::json!({"head_dim": 0})).unwrap_err();
        assert!(fault.contains("`head_dim`"), "{fault}");
        let fault = config(serde_json::json!({"num_attention_heads": 7})).unwrap_err();
        assert!(fault.contains("`hidden_size` (96)"), "{fault}");
    }
}
