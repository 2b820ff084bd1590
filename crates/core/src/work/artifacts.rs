//! The artifacts an item reads.

use super::{AdapterRef, Payload, Piece};
use crate::artifact::{ArtifactKind, Digest};

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
    use crate::work::{BaseModel, EvolvePayload, LoraShape, Projection, VerifyPayload};

    #[test]
    fn each_artifact_is_named_once_in_order() {
        let parent = |name: &[u8]| AdapterRef {
            version: VersionId(uuid::Uuid::nil()),
            artifact: Digest::of(name),
            optimizer: None,
        };
        let evolve = Payload::Evolve(EvolvePayload {
            base_model: BaseModel {
                name: "seedling".to_owned(),
                revision: None,
            },
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
