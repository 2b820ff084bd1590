//! `adapter_config.json`. Field names are those of the file.

use lyceum_core::work::{LoraShape, Projection};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{OF_MLX, WEIGHTS, key};
use crate::weights::{POINTER, is_pointer};

/// The fields that determine the computation, and fields that peft and vLLM expect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AdapterConfig {
    /// Always `LORA`.
    pub peft_type: String,
    /// Always `CAUSAL_LM` in files that this engine writes.
    #[serde(default)]
    pub task_type: Option<String>,
    /// Name of the base when the adapter was made.
    #[serde(default)]
    pub base_model_name_or_path: Option<String>,
    /// Revision of the base.
    #[serde(default)]
    pub revision: Option<String>,
    /// Rank.
    pub r: i64,
    /// Numerator of the scaling.
    pub lora_alpha: f64,
    /// Dropout before A during training; the engine uses none.
    #[serde(default)]
    pub lora_dropout: f64,
    /// Whether scaling is α/√r.
    #[serde(default)]
    pub use_rslora: bool,
    /// Adapted modules: a list of names, or a pattern.
    pub target_modules: Value,
    /// Which biases are trained: only `none` is supported.
    #[serde(default = "none")]
    pub bias: String,
    /// Whether the adapter is loaded for inference.
    #[serde(default)]
    pub inference_mode: bool,
    /// Whether weights are stored transposed: only `false` is supported.
    #[serde(default)]
    pub fan_in_fan_out: bool,
    /// Weight-decomposed LoRA: only `false` is supported.
    #[serde(default)]
    pub use_dora: bool,
    /// Further modules stored whole: must be absent or empty.
    #[serde(default)]
    pub modules_to_save: Option<Vec<String>>,
    /// Other ranks for some modules. [`AdapterFiles::without_patterns`](super::AdapterFiles::without_patterns) resolves
    /// them.
    #[serde(default)]
    pub rank_pattern: Option<Map<String, Value>>,
    /// Other numerators for some modules, resolved likewise.
    #[serde(default)]
    pub alpha_pattern: Option<Map<String, Value>>,
    /// Restricts adaptation to some layers, resolved likewise.
    #[serde(default)]
    pub layers_to_transform: Option<Value>,
    /// Fields that are only read, to refuse what changes the computation.
    #[serde(flatten, skip_serializing)]
    pub other: Map<String, Value>,
}

fn none() -> String {
    "none".to_owned()
}

impl AdapterConfig {
    /// The configuration to write for an adapter of this shape.
    pub fn new(shape: &LoraShape, base_model_name_or_path: &str) -> Self {
        Self {
            peft_type: "LORA".to_owned(),
            task_type: Some("CAUSAL_LM".to_owned()),
            base_model_name_or_path: Some(base_model_name_or_path.to_owned()),
            revision: None,
            r: i64::from(shape.r),
            lora_alpha: shape.lora_alpha,
            lora_dropout: 0.0,
            use_rslora: shape.use_rslora,
            target_modules: shape.target_modules.iter().map(|projection| projection.name()).collect(),
            bias: none(),
            inference_mode: true,
            fan_in_fan_out: false,
            use_dora: false,
            modules_to_save: None,
            rank_pattern: Some(Map::new()),
            alpha_pattern: Some(Map::new()),
            layers_to_transform: None,
            other: Map::new(),
        }
    }

    /// Reads the file's bytes.
    ///
    /// # Errors
    /// They are a Git LFS pointer, of mlx-lm, or not such JSON.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if is_pointer(bytes) {
            return Err(POINTER.to_owned());
        }
        serde_json::from_slice(bytes).map_err(|error| match serde_json::from_slice::<Value>(bytes) {
            Ok(config) if config.get("peft_type").is_none() && config.get("fine_tune_type").is_some() => {
                OF_MLX.to_owned()
            }
            _ => format!("not the expected JSON: {error}"),
        })
    }

    /// The adapter's shape; `names` are those of the tensors in its weights file.
    ///
    /// # Errors
    /// The adapter uses what is not supported.
    pub fn shape_of<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Result<LoraShape, String> {
        let is_adapted = |projection: &Projection| {
            let key = key(0, *projection, 'A');
            names.clone().any(|name| name == key)
        };
        let adapted: Vec<Projection> = Projection::ALL.into_iter().filter(is_adapted).collect();
        match names.min() {
            Some(name) if adapted.is_empty() => Err(format!(
                "{WEIGHTS} has a tensor `{name}`, and none of layer 0 under the names that peft gives, such as `{}`: save the \
                 adapter with peft",
                key(0, Projection::Q, 'A')
            )),
            _ => self.shape(adapted),
        }
    }

    /// The same where the projections with factors in the weights file are known.
    ///
    /// # Errors
    /// The adapter uses what is not supported.
    pub fn shape(&self, adapted: Vec<Projection>) -> Result<LoraShape, String> {
        self.refuse_unsupported()?;
        if let Value::Array(names) = &self.target_modules {
            let mut listed = names.iter().map(projection).collect::<Result<Vec<Projection>, String>>()?;
            listed.sort_unstable();
            listed.dedup();
            let is_fitting = match self.excludes() {
                true => adapted.iter().all(|projection| listed.contains(projection)),
                false => listed == adapted,
            };
            if !is_fitting {
                let names = |list: &[Projection]| list.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
                return Err(format!(
                    "`target_modules` lists {}, but the weights have factors for {}",
                    names(&listed),
                    names(&adapted)
                ));
            }
        }
        let r = u32::try_from(self.r).map_err(|_| format!("`r` is {}; it must be positive", self.r))?;
        LoraShape::new(r, self.lora_alpha, self.use_rslora, adapted).map_err(|error| error.to_string())
    }

    /// Whether modules may differ in rank or scaling.
    pub fn has_patterns(&self) -> bool {
        let is_filled =
            |pattern: &Option<Map<String, Value>>| pattern.as_ref().is_some_and(|pattern| !pattern.is_empty());
        is_filled(&self.rank_pattern) || is_filled(&self.alpha_pattern)
    }

    /// Whether modules may differ in rank or scaling, or be left out in some layers.
    pub fn is_uneven(&self) -> bool {
        self.has_patterns() || self.leaves_out()
    }

    /// Whether a module may be left out in some layers.
    pub(super) fn leaves_out(&self) -> bool {
        self.layers_to_transform.is_some() || self.excludes() || self.target_modules.is_string()
    }

    fn excludes(&self) -> bool {
        self.other.get("exclude_modules").is_some_and(|modules| !modules.is_null())
    }

    /// Whether `layers_to_transform` lists a layer; none if there is no such list.
    pub(super) fn adapts(&self, layer: usize) -> Option<bool> {
        match self.layers_to_transform.as_ref()? {
            Value::Null => None,
            Value::Array(layers) => Some(layers.iter().any(|one| one == layer)),
            one => Some(one == layer),
        }
    }

    /// The configuration without patterns of an adapter of `adapted` padded to `rank`.
    pub(super) fn plain(&self, rank: usize, adapted: &[Projection]) -> Self {
        let mut plain = self.clone();
        plain.r = rank as i64;
        // B takes up any scaling but none at all.
        if plain.lora_alpha == 0.0 {
            plain.lora_alpha = rank as f64;
        }
        (plain.rank_pattern, plain.alpha_pattern) = (Some(Map::new()), Some(Map::new()));
        plain.layers_to_transform = None;
        plain.target_modules = adapted.iter().map(|projection| projection.name()).collect();
        plain.other.remove("exclude_modules");
        plain
    }

    /// The factor before B·A.
    pub(super) fn scaling(&self) -> f64 {
        let r = self.r as f64;
        self.lora_alpha / if self.use_rslora { r.sqrt() } else { r }
    }

    fn refuse_unsupported(&self) -> Result<(), String> {
        let unsupported = |field: &str, value: &dyn std::fmt::Debug, valid: &str| {
            Err(format!("`{field}` is {value:?}; only {valid} is supported"))
        };
        if self.peft_type != "LORA" {
            return unsupported("peft_type", &self.peft_type, "\"LORA\"");
        }
        if self.bias != "none" {
            return unsupported("bias", &self.bias, "\"none\"");
        }
        if self.use_dora {
            return unsupported("use_dora", &self.use_dora, "false");
        }
        if self.fan_in_fan_out {
            return unsupported("fan_in_fan_out", &self.fan_in_fan_out, "false");
        }
        if self.modules_to_save.as_ref().is_some_and(|modules| !modules.is_empty()) {
            return unsupported("modules_to_save", &self.modules_to_save, "null");
        }
        if self.has_patterns() || self.adapts(0).is_some() {
            return Err(
                "`rank_pattern`, `alpha_pattern` or `layers_to_transform` is not empty, and here all modules share one rank and scaling"
                    .to_owned(),
            );
        }
        self.refuse_other()
    }

    /// Refuses fields of peft that change what is computed, or the base that it belongs to.
    fn refuse_other(&self) -> Result<(), String> {
        const BASE: &str = "only true, false, \"gaussian\", \"eva\" and \"orthogonal\" are supported, since the others change \
                            the base: save the adapter with peft's `path_initial_model_for_weight_conversion`";
        if let Some(value) = self.other.get("init_lora_weights") {
            let is_plain = value.is_boolean()
                || value.is_null()
                || ["gaussian", "eva", "orthogonal"].iter().any(|name| value == name);
            if !is_plain {
                return Err(format!("`init_lora_weights` is {value}; {BASE}"));
            }
        }
        // The method that a field belongs to.
        const METHODS: [(&str, &str); 9] = [
            ("alora_invocation_tokens", "activated LoRA, which begins at these tokens"),
            ("layer_replication", "a base with repeated layers"),
            ("trainable_token_indices", "trained embeddings"),
            ("target_parameters", "adapted parameters that are no modules"),
            ("lora_bias", "biases beside B"),
            ("use_qalora", "QALoRA"),
            ("arrow_config", "a router over adapters"),
            ("use_bdlora", "block-diagonal factors"),
            ("monteclora_config", "sampled factors"),
        ];
        for (field, method) in METHODS {
            let is_off = |value: &Value| match value {
                Value::Null | Value::Bool(false) => true,
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                _ => false,
            };
            if let Some(value) = self.other.get(field).filter(|value| !is_off(value)) {
                return Err(format!("`{field}` is {value}: {method} is not supported; only null is valid"));
            }
        }
        Ok(())
    }
}

/// The projection that an entry of `target_modules` names, by its name or by the end of its path.
fn projection(entry: &Value) -> Result<Projection, String> {
    let text = entry.as_str().ok_or_else(|| format!("`target_modules` contains {entry}, which is not a name"))?;
    let (path, name) = text.rsplit_once('.').unwrap_or(("", text));
    let projection: Projection = name.parse().map_err(|error: lyceum_core::named::UnknownName| error.to_string())?;
    let mut parts = path.rsplit('.').filter(|_| !path.is_empty());
    let fits = parts.next().is_none_or(|block| block == projection.block())
        && parts.next().is_none_or(|layer| layer.bytes().all(|byte| byte.is_ascii_digit()) && !layer.is_empty())
        && parts.next().is_none_or(|list| list == "layers")
        && parts.all(|part| matches!(part, "model" | "base_model"));
    match fits {
        true => Ok(projection),
        false => Err(format!(
            "`target_modules` contains `{text}`, which is no module of a decoder layer; `{projection}` or \
             `{}.{projection}` would be",
            projection.block()
        )),
    }
}
