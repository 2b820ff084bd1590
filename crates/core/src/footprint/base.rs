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
            _ => Err(format!("config.json has no size `{name}`, a whole number from 1 to {LARGEST_SIZE}")),
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
        [self.hidden_size, self.intermediate_size, self.num_hidden_layers, self.vocab_size].map(u128::from)
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

/// Sizes by family and the parameter count in a name: vocabulary, width, MLP width, layers, query heads, key and value
/// heads, head width, and whether the output projection shares the embedding's weights.
type Sizes = (&'static str, &'static str, [u64; 7], bool);

/// `Qwen2.5` also covers `Qwen2.5-Coder` and `Qwen2.5-Math`.
const KNOWN: [Sizes; 18] = [
    ("Qwen2.5", "0.5B", [151_936, 896, 4864, 24, 14, 2, 64], true),
    ("Qwen2.5", "1.5B", [151_936, 1536, 8960, 28, 12, 2, 128], true),
    ("Qwen2.5", "3B", [151_936, 2048, 11_008, 36, 16, 2, 128], true),
    ("Qwen2.5", "7B", [152_064, 3584, 18_944, 28, 28, 4, 128], false),
    ("Qwen2.5", "14B", [152_064, 5120, 13_824, 48, 40, 8, 128], false),
    ("Qwen3", "0.6B", [151_936, 1024, 3072, 28, 16, 8, 128], true),
    ("Qwen3", "1.7B", [151_936, 2048, 6144, 28, 16, 8, 128], true),
    ("Qwen3", "4B", [151_936, 2560, 9728, 36, 32, 8, 128], true),
    ("Qwen3", "8B", [151_936, 4096, 12_288, 36, 32, 8, 128], false),
    ("Qwen3", "14B", [151_936, 5120, 17_408, 40, 40, 8, 128], false),
    ("SmolLM2", "135M", [49_152, 576, 1536, 30, 9, 3, 64], true),
    ("SmolLM2", "360M", [49_152, 960, 2560, 32, 15, 5, 64], true),
    ("SmolLM2", "1.7B", [49_152, 2048, 8192, 24, 32, 32, 64], true),
    ("TinyLlama", "1.1B", [32_000, 2048, 5632, 22, 32, 4, 64], false),
    ("Llama-3.2", "1B", [128_256, 2048, 8192, 16, 32, 8, 64], true),
    ("Llama-3.2", "3B", [128_256, 3072, 8192, 28, 24, 8, 128], true),
    ("Llama-3.1", "8B", [128_256, 4096, 14_336, 32, 32, 8, 128], false),
    ("Mistral", "7B", [32_768, 4096, 14_336, 32, 32, 8, 128], false),
];

/// Variants with the same sizes; the word may come between the family and the size, or after the size.
const KINDS: [&str; 2] = ["Coder", "Math"];
const VARIANTS: [&str; 7] =
    ["Base", "Instruct", "Instruct-2507", "Thinking-2507", "Chat-v1.0", "v0.3", "Instruct-v0.3"];

impl BaseShape {
    /// The base model that ships with Lyceum.
    pub const SEEDLING: Self = Self {
        vocab_size: 416,
        hidden_size: 128,
        intermediate_size: 384,
        num_hidden_layers: 6,
        num_attention_heads: 4,
        num_key_value_heads: 4,
        head_dim: 32,
        tie_word_embeddings: true,
    };

    /// The sizes of a well-known model, such as `Qwen/Qwen2.5-Coder-7B-Instruct` or `seedling`; `None` for others.
    pub fn of_name(name: &str) -> Option<Self> {
        let model = name.rsplit('/').next().unwrap_or(name);
        if model == "seedling" {
            return Some(Self::SEEDLING);
        }
        let sizes = |(family, parameters, ..): &&Sizes| {
            let Some(rest) = model.strip_prefix(family).and_then(|rest| rest.strip_prefix('-')) else { return false };
            let of_kind = KINDS.iter().find_map(|kind| rest.strip_prefix(kind)?.strip_prefix('-'));
            match of_kind.unwrap_or(rest).strip_prefix(parameters) {
                Some("") => true,
                Some(variant) => variant.strip_prefix('-').is_some_and(|variant| VARIANTS.contains(&variant)),
                None => false,
            }
        };
        let (_, _, sizes, tie_word_embeddings) = KNOWN.iter().find(sizes)?;
        let [
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
        ] = *sizes;
        Some(Self {
            vocab_size,
            hidden_size,
            intermediate_size,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads,
            head_dim,
            tie_word_embeddings: *tie_word_embeddings,
        })
    }
}

/// The context length (`max_position_embeddings`) of well-known models, by their name in a config; `None` for others,
/// whose limit the worker reads from their `config.json`.
pub fn context_length(name: &str) -> Option<u32> {
    let model = name.rsplit('/').next().unwrap_or(name);
    let known = [
        ("seedling", 512),
        ("Qwen2.5-Math", 4096),
        ("Qwen2.5", 32768),
        ("Qwen3", 32768),
        ("SmolLM2", 8192),
        ("TinyLlama", 2048),
        ("Llama-3.1", 131_072),
        ("Llama-3.2", 131_072),
        ("Mistral-7B", 32768),
    ];
    known.iter().find(|(stem, _)| model.starts_with(stem)).map(|(_, positions)| *positions)
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
            config.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            BaseShape::of_config(&config)
        };
        let heads = |further| config(further).map(|base| (base.num_key_value_heads, base.head_dim));
        let qwen2 = serde_json::json!({"architectures": ["Qwen2ForCausalLM"], "num_key_value_heads": null});
        assert_eq!(heads(qwen2), Ok((4, 24)));
        let qwen3 = serde_json::json!({"architectures": ["Qwen3ForCausalLM"], "num_key_value_heads": 2});
        assert_eq!(heads(qwen3), Ok((2, 128)));
        assert_eq!(heads(serde_json::json!({"model_type": "qwen3"})), Ok((4, 128)));
        assert_eq!(heads(serde_json::json!({"model_type": "qwen3", "head_dim": 64})), Ok((4, 64)));
        let fault = config(serde_json::json!({"head_dim": 0})).unwrap_err();
        assert!(fault.contains("`head_dim`"), "{fault}");
        let fault = config(serde_json::json!({"num_attention_heads": 7})).unwrap_err();
        assert!(fault.contains("`hidden_size` (96)"), "{fault}");
    }

    /// Parameters in billions from the model cards: all, and all but the embeddings.
    #[test]
    fn models_have_the_parameters_that_their_cards_say() {
        let cards = [
            ("Qwen/Qwen2.5-0.5B", 0.49, 0.36),
            ("Qwen/Qwen2.5-Coder-1.5B-Instruct", 1.54, 1.31),
            ("Qwen/Qwen2.5-Coder-3B", 3.09, 2.77),
            ("Qwen/Qwen2.5-Coder-7B", 7.61, 6.53),
            ("Qwen/Qwen2.5-14B-Instruct", 14.7, 13.1),
            ("Qwen/Qwen3-0.6B-Base", 0.6, 0.44),
            ("Qwen/Qwen3-1.7B", 1.7, 1.4),
            ("Qwen/Qwen3-4B-Instruct-2507", 4.0, 3.6),
            ("Qwen/Qwen3-8B-Base", 8.2, 6.95),
            ("Qwen/Qwen3-14B", 14.8, 13.2),
            ("HuggingFaceTB/SmolLM2-135M-Instruct", 0.135, 0.106),
            ("HuggingFaceTB/SmolLM2-360M", 0.362, 0.315),
            ("HuggingFaceTB/SmolLM2-1.7B-Instruct", 1.71, 1.61),
            ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1.1, 0.97),
            ("meta-llama/Llama-3.2-1B-Instruct", 1.24, 0.97),
            ("meta-llama/Llama-3.2-3B", 3.21, 2.82),
            ("meta-llama/Llama-3.1-8B-Instruct", 8.03, 6.98),
            ("mistralai/Mistral-7B-Instruct-v0.3", 7.25, 6.98),
        ];
        for (name, all, without) in cards {
            let base = BaseShape::of_name(name).unwrap_or_else(|| panic!("{name} is not known"));
            let embeddings = base.vocab_size * base.hidden_size * if base.tie_word_embeddings { 1 } else { 2 };
            let billions = |parameters: u64| parameters as f64 / 1e9;
            // Cards round to a tenth or a hundredth, sometimes down.
            let is_near = |found: f64, said: f64| (found - said).abs() <= 0.013 * said + 0.005;
            assert!(is_near(billions(base.parameters()), all), "{name}: {}", billions(base.parameters()));
            let found = billions(base.parameters() - embeddings);
            assert!(is_near(found, without), "{name}: {found} without embeddings");
        }
    }

    #[test]
    fn the_seedling_has_the_sizes_of_its_config() {
        let config = include_str!("../../../../models/seedling/config.json");
        let config: serde_json::Value = serde_json::from_str(config).unwrap();
        assert_eq!(BaseShape::of_config(&config), Ok(BaseShape::SEEDLING));
        assert_eq!(BaseShape::of_name("seedling"), Some(BaseShape::SEEDLING));
    }

    #[test]
    fn other_names_are_not_known() {
        for name in [
            "Qwen/Qwen2.5-72B",
            "Qwen/Qwen3-30B-A3B",
            "Qwen2.5",
            "Qwen2.5-7B-Instruct-GPTQ-Int4",
            "Qwen2.5-VL-7B",
            "7B",
        ] {
            assert_eq!(BaseShape::of_name(name), None, "{name}");
        }
    }
}
