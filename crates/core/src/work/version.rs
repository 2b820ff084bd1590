//! How payloads name models and adapter versions: exactly.

use serde::{Deserialize, Serialize};

use crate::{artifact::Digest, id::VersionId};

/// A frozen base model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseModel {
    /// A folder below the models folder (`seedling`), an absolute folder, or a hub id (`Qwen/Qwen2.5-Coder-7B`).
    pub name: String,
    /// The hub revision (a commit) or the digest of the folder's weights, once resolved; none takes what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// One adapter version: which, and where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterRef {
    /// The version.
    pub version: VersionId,
    /// Its PEFT folder in the artifact store.
    pub artifact: Digest,
    /// Its optimizer state, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Digest>,
}

/// The shape that all adapters of a population share. Field names are those of PEFT's `adapter_config.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoraShape {
    /// Rank.
    #[schemars(range(min = 1, max = 512))]
    pub r: u32,
    /// Scale: the update is `lora_alpha / r · B·A`.
    #[schemars(range(min = 0.0))]
    pub lora_alpha: f64,
    /// Projections with an adapter: any of `q_proj`, `k_proj`, `v_proj`, `o_proj`, `gate_proj`, `up_proj`, `down_proj`.
    #[schemars(length(min = 1))]
    pub target_modules: Vec<String>,
    /// Scale by `lora_alpha / √r` instead.
    #[serde(default)]
    pub use_rslora: bool,
}
