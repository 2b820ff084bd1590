//! Training samples.

use lyceum_engine::error::{EngineError, Result};

/// Token ids, each with the weight of its negative log-likelihood in the loss.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WeightedTokens {
    pub ids: Vec<i64>,
    /// One weight per id, finite and not negative.
    pub weights: Vec<f32>,
}

impl WeightedTokens {
    /// Appends ids with the same weight.
    pub fn extend(&mut self, ids: &[i64], weight: f32) {
        self.ids.extend(ids);
        self.weights.resize(self.ids.len(), weight);
    }
}

/// A prefix, and continuations of it that do not see each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PackedSample {
    /// The beginning, or the whole sample if there are no continuations. At least one token; the first is not learned,
    /// because nothing precedes it.
    pub prefix: WeightedTokens,
    /// The continuations. The first token of each has weight 0, because it is predicted from the shared prefix.
    pub branches: Vec<WeightedTokens>,
}

impl PackedSample {
    /// Tokens that pass through the layers.
    pub fn tokens(&self) -> usize {
        self.prefix.ids.len() + self.branches.iter().map(|branch| branch.ids.len()).sum::<usize>()
    }

    /// Refuses invalid samples.
    pub(super) fn check(&self, vocabulary: i64, longest: i64) -> Result<()> {
        let refuse = |reason: String| Err(EngineError::request("sample", reason));
        let parts = || std::iter::once(&self.prefix).chain(&self.branches);
        if self.prefix.ids.is_empty() {
            return refuse("the prefix has no tokens; at least one is needed".to_owned());
        }
        if let Some(part) = parts().find(|part| part.ids.len() != part.weights.len()) {
            return refuse(format!("{} weights for {} ids", part.weights.len(), part.ids.len()));
        }
        if let Some(id) = parts().flat_map(|part| &part.ids).find(|&&id| id < 0 || id >= vocabulary) {
            return refuse(format!("id {id} is outside the vocabulary of {vocabulary}"));
        }
        if let Some(weight) = parts().flat_map(|part| &part.weights).find(|&&w| !(w >= 0.0 && w.is_finite())) {
            return refuse(format!("weight {weight} must be finite and at least 0"));
        }
        if self.branches.iter().any(|branch| branch.weights.first().is_some_and(|&weight| weight != 0.0)) {
            return refuse("the first token of a continuation has a weight; it must be 0".to_owned());
        }
        let deepest = self.branches.iter().map(|branch| branch.ids.len()).max().unwrap_or(0) + self.prefix.ids.len();
        if deepest as i64 > longest {
            return refuse(format!("{deepest} tokens; the model's longest sequence is {longest}"));
        }
        Ok(())
    }
}
