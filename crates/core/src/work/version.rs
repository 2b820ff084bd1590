//! Exact references to models and adapter versions in payloads.

use serde::{Deserialize, Serialize};

use super::{Payload, Piece};
use crate::artifact::{ArtifactKind, Digest};
use crate::id::VersionId;

/// A frozen base model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseModel {
    /// A folder in the models folder (`seedling`), or a Hugging Face hub id (`Qwen/Qwen2.5-Coder-7B`).
    pub name: String,
    /// The hub revision (a commit) or the digest of the folder's weights, once resolved; left out, whatever is there is
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl BaseModel {
    /// Maximum length of a name, in bytes.
    const LONGEST_NAME: usize = 200;

    /// Why the name is not valid. Valid ones name nothing outside of the models folder and the hub.
    pub fn name_fault(&self) -> Option<String> {
        let name = &self.name;
        if name.trim().is_empty() {
            return Some("a base model must be named".to_owned());
        }
        let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
        let is_valid = name.len() <= Self::LONGEST_NAME
            && !name.contains(|letter: char| letter == '\\' || letter.is_control())
            && name.split('/').all(is_part);
        let shown: String = name.chars().take(Self::LONGEST_NAME).collect();
        (!is_valid).then(|| {
            format!(
                "`{}` is not the name of a model: use that of a folder in the models folder, such as `seedling`, or of a \
                 model on the hub, such as `Qwen/Qwen2.5-Coder-7B`",
                shown.escape_debug()
            )
        })
    }
}

/// An adapter version and the location of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterRef {
    pub version: VersionId,
    /// Its PEFT folder in the artifact store.
    pub artifact: Digest,
    /// Its optimizer state, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Digest>,
}

impl Payload {
    /// The artifacts the payload refers to, each once, in order of their first mention.
    pub fn artifacts(&self) -> Vec<(ArtifactKind, Digest)> {
        let weights = |version: &AdapterRef| (ArtifactKind::Adapter, version.artifact);
        let mut named = Vec::new();
        match self {
            Self::Rollout(rollout) => {
                named.extend(rollout.adapters.iter().map(weights));
                let earlier = rollout.embedding.iter().flat_map(|batch| &batch.against);
                named.extend(earlier.map(|(vectors, _)| (ArtifactKind::Embeddings, *vectors)));
                named.extend(rollout.compare.map(|tokens| (ArtifactKind::Tokens, tokens)));
            }
            Self::Verify(_) => {}
            Self::Update(update) => {
                for member in &update.members {
                    named.push(weights(&member.from));
                    named.extend(member.from.optimizer.map(|moments| (ArtifactKind::Optimizer, moments)));
                    named.extend(member.kl_reference.iter().map(weights));
                    let tokens = member.sequences.iter().map(|sequence| sequence.tokens);
                    named.extend(tokens.map(|tokens| (ArtifactKind::Tokens, tokens)));
                }
                if let Some(Piece::Apply { gradients }) = &update.piece {
                    named.extend(gradients.iter().map(|gradient| (ArtifactKind::Gradient, *gradient)));
                }
            }
            Self::Evolve(evolve) => named.extend(evolve.parents.iter().chain(&evolve.measured).map(weights)),
            Self::Benchmark(benchmark) => named.extend(benchmark.adapter.iter().map(weights)),
        }
        let mut seen = std::collections::HashSet::new();
        named.retain(|(_, digest)| seen.insert(*digest));
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::VersionId;
    use crate::work::{EvolvePayload, LoraShape, Projection, VerifyPayload};

    fn fault(name: &str) -> Option<String> {
        let name = name.to_owned();
        BaseModel { name, revision: None }.name_fault()
    }

    #[test]
    fn a_name_stays_in_the_models_folder() {
        for name in ["seedling", "Qwen/Qwen2.5-Coder-7B", "merged/of run 3", "..a", "a..b"] {
            assert_eq!(fault(name), None, "{name}");
        }
        let long = "a".repeat(201);
        let outside =
            ["/etc", "/", "..", "../models", "a/../b", "a/..", "./a", "a//b", "a/", "a\\b", "a\0", "a\n", &long];
        for name in outside {
            let fault = fault(name).expect(name);
            assert!(fault.contains("is not the name of a model"), "{fault}");
        }
        assert_eq!(fault(" ").as_deref(), Some("a base model must be named"));
    }

    #[test]
    fn each_artifact_is_named_once_in_order() {
        let parent = |name: &[u8]| AdapterRef {
            version: VersionId(uuid::Uuid::nil()),
            artifact: Digest::of(name),
            optimizer: None,
        };
        let evolve = Payload::Evolve(EvolvePayload {
            base_model: BaseModel { name: "seedling".to_owned(), revision: None },
            lora: LoraShape::new(4, 8.0, false, vec![Projection::Q]).unwrap(),
            operator: "X1".to_owned(),
            parameters: Default::default(),
            parents: vec![parent(b"b"), parent(b"a"), parent(b"b")],
            seed: 1,
            to: VersionId(uuid::Uuid::nil()),
            measured: Vec::new(),
        });
        let adapter = |name: &[u8]| (ArtifactKind::Adapter, Digest::of(name));
        assert_eq!(evolve.artifacts(), [adapter(b"b"), adapter(b"a")]);
        assert_eq!(Payload::Verify(VerifyPayload::default()).artifacts(), []);
    }
}
