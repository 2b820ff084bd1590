//! The observer that measures epiplexity.

use serde::{Deserialize, Serialize};

use super::{LoraShape, Optimizer, Projection};
use crate::fault::Fault;

/// How epiplexity is measured (arXiv 2604.03472, appendix E.4, after arXiv 2601.03220): a fresh adapter, the observer, is
/// trained on texts until its loss on others no longer falls. The appendix's table of hyperparameters is lost; the
/// defaults are usual for such adapters, except for `epochs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Observer {
    /// The adapter's shape: all projections in the paper.
    pub lora: LoraShape,
    /// Step size of AdamW.
    #[schemars(range(min = 0.0))]
    pub learning_rate: f64,
    /// Texts per optimizer step.
    #[schemars(range(min = 1))]
    pub batch: u32,
    /// The most passes over the texts.
    #[schemars(range(min = 1, max = 1000))]
    pub epochs: u32,
    /// Training ends after this many passes in a row without a lower loss on the validation texts.
    #[schemars(range(min = 1))]
    pub patience: u32,
    /// Share of the texts that are held out for validation; at least one is.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub validation: f64,
    /// The most texts; more are sampled down to this.
    #[schemars(range(min = 2, max = 100_000))]
    pub texts: u32,
    /// Maximum tokens per micro-batch; a longer text is one of its own.
    #[schemars(range(min = 1))]
    pub micro_batch_tokens: u32,
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            lora: LoraShape { r: 16, lora_alpha: 32.0, target_modules: Projection::ALL.to_vec(), use_rslora: false },
            learning_rate: 2e-4,
            batch: 16,
            epochs: 20,
            patience: 2,
            validation: 0.1,
            texts: 2000,
            micro_batch_tokens: 4096,
        }
    }
}

impl Observer {
    /// How many of `texts` are held out: at least one, and not all of two or more.
    pub fn held_out(&self, texts: usize) -> usize {
        let most = texts.saturating_sub(1).max(1);
        ((texts as f64 * self.validation).round() as usize).clamp(1, most)
    }

    /// One optimizer step on a batch.
    pub fn optimizer(&self) -> Optimizer {
        Optimizer { learning_rate: self.learning_rate, ..Optimizer::default() }
    }

    /// The faults that a schema cannot express. `pointer` is that of the observer in the config.
    pub fn fault(&self, pointer: &str) -> Option<Fault> {
        let fault = self.lora.checked().err()?;
        Some(Fault::new(format!("{pointer}/lora"), fault.to_string()))
    }
}
