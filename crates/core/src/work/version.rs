//! Exact references to models and adapter versions in payloads.

use serde::{Deserialize, Serialize};

use crate::{artifact::Digest, id::VersionId};

/// A frozen base model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseModel {
    /// A folder in the models folder (`seedling`), an absolute path, or a Hugging Face hub id
    /// (`Qwen/Qwen2.5-Coder-7B`).
    pub name: String,
    /// The hub revision (a commit) or the digest of the folder's weights, once resolved; left out, whatever is there is
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// An adapter version and the location of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterRef {
    /// The version.
    pub version: VersionId,
    /// Its PEFT folder in the artifact store.
    pub artifact: Digest,
    /// Its optimizer state, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Digest>,
}
