//! `config.json` of a Hugging Face model folder. Field names are those of the file.

mod rope;

use std::path::Path;

use lyceum_core::footprint::BaseShape;
use lyceum_core::work::Projection;
use serde::Deserialize;

use rope::RopeParameters;

pub use rope::Llama3Rope;

use crate::error::{ModelError, Result};
use crate::weights::{is_pointer, refusal};

/// The supported model families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Qwen2 and Qwen2.5: biases on q, k and v; no norms on q and k.
    Qwen2,
    /// Qwen3: no biases; an RMS norm over each head of q and k; `head_dim` independent of `hidden_size /
    /// num_attention_heads`.
    Qwen3,
    /// Llama (SmolLM2, TinyLlama) and Mistral without sliding windows: no biases; no norms on q and k.
    Llama,
}

/// The part of `config.json` that determines the computation.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// The family.
    pub architecture: Architecture,
    /// Rows of the embedding; may exceed the tokenizer's vocabulary.
    pub vocab_size: i64,
    /// Width of the residual stream.
    pub hidden_size: i64,
    /// Width of the gated MLP.
    pub intermediate_size: i64,
    /// Decoder layers.
    pub num_hidden_layers: usize,
    /// Query heads.
    pub num_attention_heads: i64,
    /// Key and value heads; divides `num_attention_heads`.
    pub num_key_value_heads: i64,
    /// Width of one head.
    pub head_dim: i64,
    /// Longest sequence the position embedding supports.
    pub max_position_embeddings: i64,
    /// Added to the mean square in every RMS norm.
    pub rms_norm_eps: f64,
    /// Base of the rotary position embedding.
    pub rope_theta: f64,
    /// How the rotary embedding is stretched, if it is.
    pub rope_scaling: Option<Llama3Rope>,
    /// Whether the output projection shares the embedding's weights.
    pub tie_word_embeddings: bool,
    /// Whether q, k and v have biases, as in Qwen2.
    pub attention_bias: bool,
    /// Ids that end a sequence, from `config.json` and `generation_config.json`.
    pub eos_token_ids: Vec<i64>,
    /// The padding id, if the file gives one.
    pub pad_token_id: Option<i64>,
}

impl ModelConfig {
    /// The sizes that memory depends on.
    pub fn base_shape(&self) -> BaseShape {
        // None of them is negative.
        let size = i64::unsigned_abs;
        BaseShape {
            vocab_size: size(self.vocab_size),
            hidden_size: size(self.hidden_size),
            intermediate_size: size(self.intermediate_size),
            num_hidden_layers: self.num_hidden_layers as u64,
            num_attention_heads: size(self.num_attention_heads),
            num_key_value_heads: size(self.num_key_value_heads),
            head_dim: size(self.head_dim),
            tie_word_embeddings: self.tie_word_embeddings,
        }
    }

    /// Reads `config.json` (and the end-of-sequence ids of `generation_config.json`, if there is one) from a model
    /// folder.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("config.json");
        let file: ConfigFile = read_json(&path)?;
        let mut config = file.resolve().map_err(|reason| ModelError::file(&path, reason))?;
        let generation = folder.join("generation_config.json");
        if generation.exists() {
            let generation: GenerationConfigFile = read_json(&generation)?;
            for id in generation.eos_token_id.map(OneOrMany::into_vec).unwrap_or_default() {
                if !config.eos_token_ids.contains(&id) {
                    config.eos_token_ids.push(id);
                }
            }
        }
        Ok(config)
    }

    /// Outputs of the q projection.
    pub fn query_size(&self) -> i64 {
        self.num_attention_heads * self.head_dim
    }

    /// Outputs of the k projection, and of the v projection.
    pub fn key_value_size(&self) -> i64 {
        self.num_key_value_heads * self.head_dim
    }

    /// `(in_features, out_features)` of a projection.
    pub fn projection_sizes(&self, projection: Projection) -> (i64, i64) {
        match projection {
            Projection::Q => (self.hidden_size, self.query_size()),
            Projection::K | Projection::V => (self.hidden_size, self.key_value_size()),
            Projection::O => (self.query_size(), self.hidden_size),
            Projection::Gate | Projection::Up => (self.hidden_size, self.intermediate_size),
            Projection::Down => (self.intermediate_size, self.hidden_size),
        }
    }

    /// Parameters of the base, without adapters.
    pub fn parameters(&self) -> i64 {
        let (hidden, query, key_value) = (self.hidden_size, self.query_size(), self.key_value_size());
        let attention = hidden * (query + 2 * key_value) + query * hidden;
        let biases = if self.attention_bias { query + 2 * key_value } else { 0 };
        let head_norms = if self.architecture == Architecture::Qwen3 { 2 * self.head_dim } else { 0 };
        let layer = attention + biases + head_norms + 3 * hidden * self.intermediate_size + 2 * hidden;
        let embeddings = self.vocab_size * hidden * if self.tie_word_embeddings { 1 } else { 2 };
        embeddings + self.num_hidden_layers as i64 * layer + hidden
    }
}

/// A JSON file.
///
/// # Errors
/// The file is missing or of another form.
pub fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(|source| ModelError::io(path, source))?;
    if is_pointer(text.as_bytes()) {
        return Err(refusal(path));
    }
    serde_json::from_str(&text).map_err(|error| ModelError::file(path, format!("not the expected JSON: {error}")))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(i64),
    Many(Vec<i64>),
}

impl OneOrMany {
    fn into_vec(self) -> Vec<i64> {
        match self {
            Self::One(id) => vec![id],
            Self::Many(ids) => ids,
        }
    }
}

#[derive(Deserialize)]
struct GenerationConfigFile {
    eos_token_id: Option<OneOrMany>,
}

/// How weights are quantised. Of the many fields only the method's name is read.
#[derive(Deserialize)]
struct Quantization {
    #[serde(default)]
    quant_method: Option<String>,
    #[serde(default)]
    load_in_4bit: bool,
    #[serde(default)]
    load_in_8bit: bool,
}

/// The file as parsed. Optional fields are resolved by [`ConfigFile::resolve`].
#[derive(Deserialize)]
struct ConfigFile {
    #[serde(default)]
    architectures: Vec<String>,
    model_type: Option<String>,
    vocab_size: i64,
    hidden_size: i64,
    intermediate_size: i64,
    num_hidden_layers: usize,
    num_attention_heads: i64,
    num_key_value_heads: Option<i64>,
    head_dim: Option<i64>,
    #[serde(default = "default_hidden_act")]
    hidden_act: String,
    max_position_embeddings: Option<i64>,
    #[serde(default = "default_rms_norm_eps")]
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_parameters: Option<RopeParameters>,
    rope_scaling: Option<RopeParameters>,
    #[serde(default)]
    tie_word_embeddings: bool,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    #[serde(default)]
    use_sliding_window: bool,
    sliding_window: Option<u64>,
    layer_types: Option<Vec<String>>,
    partial_rotary_factor: Option<f64>,
    quantization_config: Option<Quantization>,
    eos_token_id: Option<OneOrMany>,
    pad_token_id: Option<i64>,
}

fn default_hidden_act() -> String {
    "silu".to_owned()
}

fn default_rms_norm_eps() -> f64 {
    1e-6
}

impl Quantization {
    fn method(&self) -> &str {
        match (&self.quant_method, self.load_in_4bit, self.load_in_8bit) {
            (Some(method), ..) => method,
            (None, true, _) => "bitsandbytes, 4 bit",
            (None, _, true) => "bitsandbytes, 8 bit",
            _ => "by a method without a name",
        }
    }
}

impl ConfigFile {
    fn resolve(self) -> std::result::Result<ModelConfig, String> {
        let architecture = self.architecture()?;
        if let Some(quantization) = &self.quantization_config {
            return Err(format!(
                "`quantization_config` says that the weights are quantised ({}), which is not supported: use the folder of the \
                 model with weights in bf16, fp16 or fp32",
                quantization.method()
            ));
        }
        let positive = |name: &str, value: i64| {
            if value > 0 { Ok(value) } else { Err(format!("`{name}` is {value}; it must be positive")) }
        };
        positive("vocab_size", self.vocab_size)?;
        positive("hidden_size", self.hidden_size)?;
        positive("intermediate_size", self.intermediate_size)?;
        positive("num_attention_heads", self.num_attention_heads)?;
        if self.num_hidden_layers == 0 {
            return Err("`num_hidden_layers` is 0; a model has at least one layer".to_owned());
        }
        if self.hidden_act != "silu" {
            return Err(format!("`hidden_act` is `{}`; only silu is supported", self.hidden_act));
        }
        if architecture != Architecture::Qwen2 && self.attention_bias == Some(true) {
            return Err(
                "`attention_bias` is true, which gives q, k, v and o biases; only false is supported, except for Qwen2"
                    .to_owned(),
            );
        }
        if self.mlp_bias == Some(true) {
            return Err("`mlp_bias` is true; only false is supported".to_owned());
        }
        if self.use_sliding_window {
            return Err("`use_sliding_window` is true; sliding-window attention is not supported".to_owned());
        }
        // Qwen2 states the window even where `use_sliding_window` is false.
        if let (Architecture::Llama, Some(window)) = (architecture, self.sliding_window) {
            return Err(format!("`sliding_window` is {window}; sliding-window attention is not supported, only null"));
        }
        let mut kinds = self.layer_types.iter().flatten();
        if let Some(kind) = kinds.find(|kind| *kind != "full_attention") {
            return Err(format!("`layer_types` has `{kind}`; only `full_attention` in all layers is supported"));
        }
        if let Some(share) = self.partial_rotary_factor.filter(|share| *share != 1.0) {
            return Err(format!("`partial_rotary_factor` is {share}; only 1 is supported"));
        }
        let heads = self.num_attention_heads;
        let num_key_value_heads = positive("num_key_value_heads", self.num_key_value_heads.unwrap_or(heads))?;
        if heads % num_key_value_heads != 0 {
            return Err(format!(
                "`num_key_value_heads` is {num_key_value_heads}; it must divide `num_attention_heads` ({heads})"
            ));
        }
        let head_dim = match (self.head_dim, architecture) {
            (Some(head_dim), _) => positive("head_dim", head_dim)?,
            // The default of transformers' Qwen3 configuration class.
            (None, Architecture::Qwen3) => 128,
            (None, _) if self.hidden_size % heads == 0 => self.hidden_size / heads,
            (None, _) => {
                return Err(format!(
                    "`hidden_size` ({}) is not a multiple of `num_attention_heads` ({heads})",
                    self.hidden_size
                ));
            }
        };
        if head_dim % 2 != 0 {
            return Err(format!("the head width is {head_dim}; rotary embedding needs an even width"));
        }
        Ok(ModelConfig {
            architecture,
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: heads,
            num_key_value_heads,
            head_dim,
            max_position_embeddings: positive(
                "max_position_embeddings",
                // The defaults of transformers' configuration classes.
                self.max_position_embeddings.unwrap_or(match architecture {
                    Architecture::Qwen2 | Architecture::Qwen3 => 32_768,
                    Architecture::Llama => 2048,
                }),
            )?,
            rms_norm_eps: self.rms_norm_eps,
            rope_theta: self.rope_theta()?,
            rope_scaling: self.rope_scaling()?,
            tie_word_embeddings: self.tie_word_embeddings,
            attention_bias: architecture == Architecture::Qwen2,
            pad_token_id: self.pad_token_id,
            eos_token_ids: self.eos_token_id.map(OneOrMany::into_vec).unwrap_or_default(),
        })
    }

    fn architecture(&self) -> std::result::Result<Architecture, String> {
        let named = self.architectures.first().map(String::as_str);
        match (named, self.model_type.as_deref()) {
            (Some("Qwen2ForCausalLM"), _) | (None, Some("qwen2")) => Ok(Architecture::Qwen2),
            (Some("Qwen3ForCausalLM"), _) | (None, Some("qwen3")) => Ok(Architecture::Qwen3),
            (Some("LlamaForCausalLM" | "MistralForCausalLM"), _) | (None, Some("llama" | "mistral")) => {
                Ok(Architecture::Llama)
            }
            (Some(other), _) => Err(format!(
                "`architectures` names `{other}`; supported: Qwen2ForCausalLM, Qwen3ForCausalLM, LlamaForCausalLM and \
                 MistralForCausalLM"
            )),
            (None, other) => Err(format!(
                "`model_type` is `{}` and `architectures` is absent; supported: qwen2, qwen3, llama and mistral",
                other.unwrap_or("absent")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(super) fn with_rope(rope: &Value) -> std::result::Result<ModelConfig, String> {
        with("rope_scaling", rope)
    }

    fn with(field: &str, value: &Value) -> std::result::Result<ModelConfig, String> {
        let mut file = json!({
            "model_type": "qwen2",
            "vocab_size": 320,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
        });
        file[field] = value.clone();
        serde_json::from_value::<ConfigFile>(file).expect("the fields of a configuration").resolve()
    }

    #[test]
    fn llama_and_mistral_are_read_if_they_have_neither_biases_nor_windows() {
        let with = |model_type: &str, field: &str, value: Value| {
            let mut file = json!({
                "model_type": model_type, "vocab_size": 320, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
                "num_attention_heads": 4,
            });
            file[field] = value;
            serde_json::from_value::<ConfigFile>(file).expect("the fields of a configuration").resolve()
        };
        let config = with("llama", "attention_bias", json!(false)).expect("a Llama");
        assert_eq!((config.architecture, config.attention_bias, config.head_dim), (Architecture::Llama, false, 8));
        assert_eq!(with("mistral", "sliding_window", json!(null)), Ok(config));
        assert!(with("qwen2", "sliding_window", json!(4096)).is_ok(), "it is not used");
        for (field, value, found) in [
            ("sliding_window", json!(4096), "`sliding_window` is 4096"),
            ("attention_bias", json!(true), "`attention_bias` is true"),
            ("mlp_bias", json!(true), "`mlp_bias` is true"),
        ] {
            let refusal = with("mistral", field, value).expect_err(found);
            assert!(refusal.contains(found), "{refusal}");
        }
    }

    #[test]
    fn what_would_change_the_computation_unsaid_is_refused_by_name() {
        for (field, value, part) in [
            ("rope_scaling", json!({"factor": 4.0, "original_max_position_embeddings": 64}), "`factor` (4.0)"),
            ("rope_parameters", json!({"mrope_section": [8, 12, 12]}), "`mrope_section`"),
            (
                "rope_parameters",
                json!({"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}}),
                "for `full_attention`",
            ),
            ("layer_types", json!(["full_attention", "sliding_attention"]), "`sliding_attention`"),
            ("layer_types", json!(["chunked_attention"]), "`chunked_attention`"),
            ("partial_rotary_factor", json!(0.5), "0.5"),
            ("quantization_config", json!({"quant_method": "gptq", "bits": 4}), "(gptq)"),
            ("quantization_config", json!({"load_in_4bit": true}), "(bitsandbytes, 4 bit)"),
        ] {
            let refusal = with(field, &value).expect_err("it changes the computation");
            assert!(refusal.contains(&format!("`{field}`")) && refusal.contains(part), "{refusal}");
        }
        for (field, value) in [
            ("rope_parameters", json!({"rope_theta": 1e6})),
            ("rope_scaling", json!({})),
            ("layer_types", json!(["full_attention"])),
            ("quantization_config", json!(null)),
        ] {
            assert!(with(field, &value).is_ok(), "{field} {value}");
        }
    }
}
