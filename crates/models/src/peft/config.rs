//! `adapter_config.json`. Field names are those of the file.

use std::collections::BTreeMap;

use lyceum_core::named::UnknownName;
use lyceum_core::work::{LoraShape, Projection};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Different ranks for some modules: must be empty.
    #[serde(default)]
    pub rank_pattern: BTreeMap<String, Value>,
    /// Different scalings for some modules: must be empty.
    #[serde(default)]
    pub alpha_pattern: BTreeMap<String, Value>,
    /// Restricts adaptation to some layers: must be absent.
    #[serde(default)]
    pub layers_to_transform: Option<Value>,
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
            target_modules: shape
                .target_modules
                .iter()
                .map(|projection| projection.name())
                .collect(),
            bias: none(),
            inference_mode: true,
            fan_in_fan_out: false,
            use_dora: false,
            modules_to_save: None,
            rank_pattern: BTreeMap::new(),
            alpha_pattern: BTreeMap::new(),
            layers_to_transform: None,
        }
    }

    /// The adapter's shape; `adapted` are the projections with factors in the weights file.
    ///
    /// # Errors
    /// The adapter uses what is not supported.
    pub fn shape(&self, adapted: Vec<Projection>) -> Result<LoraShape, String> {
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
        if !self.rank_pattern.is_empty() || !self.alpha_pattern.is_empty() {
            return Err(
                "`rank_pattern` and `alpha_pattern` must be empty: all modules share one rank and scaling".into(),
            );
        }
        if self
            .layers_to_transform
            .as_ref()
            .is_some_and(|layers| !layers.is_null())
        {
            return unsupported("layers_to_transform", &self.layers_to_transform, "null");
        }
        if let Value::Array(names) = &self.target_modules {
            let mut listed = names
                .iter()
                .map(|name| {
                    let text = name
                        .as_str()
                        .ok_or_else(|| format!("`target_modules` contains {name}, which is not a name"))?;
                    text.parse().map_err(|error: UnknownName| error.to_string())
                })
                .collect::<Result<Vec<Projection>, String>>()?;
            listed.sort_unstable();
            if listed != adapted {
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
}
