//! The config file, which determines the weights.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use lyceum_core::named::UnknownName;
use lyceum_core::work::Dtype;
use lyceum_engine::learn::AdamW;
use lyceum_workshop::pretrain::Schedule;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::curriculum::{Curriculum, Name};

/// The curriculum that a config file names.
pub(super) fn curriculum(path: &Path) -> anyhow::Result<Name> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        curriculum: Name,
    }
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let named: Named = toml::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(named.curriculum)
}

/// The config file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub(super) struct PretrainConfig<C: Curriculum> {
    /// The subject; the fields of `corpus`, `samples`, `phases.tasks` and `evaluation` depend on it.
    #[serde(default, rename = "curriculum")]
    pub(super) _curriculum: Name,
    /// The file as it was named.
    #[serde(skip)]
    pub(super) file: String,
    /// Seed of the initial weights and of the training data of each step.
    pub(super) seed: u64,
    /// Steps between checkpoints.
    pub(super) checkpoint_every: u64,
    pub(super) compute: Compute,
    pub(super) model: Architecture,
    pub(super) corpus: C::Corpus,
    pub(super) samples: C::Samples,
    pub(super) rows: Rows,
    pub(super) optimizer: OptimizerConfig,
    pub(super) phases: Vec<Phase<C::Task>>,
    pub(super) evaluation: C::Evaluation,
}

/// The device, precision and threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compute {
    /// auto, cpu, cuda or cuda:N.
    pub(super) device: String,
    /// fp32, or bf16: products in bf16, trained weights in fp32.
    pub(super) precision: String,
    /// Threads of libtorch.
    pub(super) threads: u32,
}

impl Compute {
    pub(super) fn precision(&self) -> anyhow::Result<Dtype> {
        self.precision.parse().map_err(|error: UnknownName| anyhow::anyhow!("`compute.precision`: {error}"))
    }
}

/// The configurable fields of a Qwen2 `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Architecture {
    pub(super) hidden_size: i64,
    pub(super) intermediate_size: i64,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: i64,
    pub(super) num_key_value_heads: i64,
    pub(super) max_position_embeddings: i64,
    pub(super) rope_theta: f64,
}

/// The shape of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) tokens: usize,
}

/// AdamW; each phase sets its own step size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OptimizerConfig {
    /// Warm-up steps at the very beginning.
    pub(super) warmup_steps: u64,
    pub(super) beta1: f64,
    pub(super) beta2: f64,
    pub(super) eps: f64,
    pub(super) weight_decay: f64,
    /// 0 sets no limit.
    pub(super) max_grad_norm: f64,
}

/// A number of steps with one mixture of tasks.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Ord + serde::de::DeserializeOwned")]
pub(super) struct Phase<T> {
    pub(super) name: String,
    pub(super) steps: u64,
    /// The step size outside warm-up and decay.
    pub(super) learning_rate: f64,
    /// Steps at the end of the phase over which the step size decays to zero.
    pub(super) decay_steps: u64,
    pub(super) tasks: BTreeMap<T, Share>,
}

/// How often a task is drawn, and how often at each level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Share {
    pub(super) share: f64,
    pub(super) levels: [f64; 5],
    /// The share of its samples whose answers show steps first.
    #[serde(default)]
    pub(super) trace: f64,
    /// How often each level is drawn for a traced sample, if not as often as for others.
    pub(super) trace_levels: Option<[f64; 5]>,
}

impl Share {
    /// How often each level is drawn for samples with steps, or for those without.
    pub(super) fn levels(&self, traced: bool) -> [f64; 5] {
        self.trace_levels.filter(|_| traced).unwrap_or(self.levels)
    }
}

impl<C: Curriculum> PretrainConfig<C> {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let config = Self {
            file: path.display().to_string(),
            ..toml::from_str(&text).with_context(|| path.display().to_string())?
        };
        config.check().with_context(|| path.display().to_string())?;
        Ok(config)
    }

    /// Number of steps in all phases.
    pub(super) fn steps(&self) -> u64 {
        self.phases.iter().map(|phase| phase.steps).sum()
    }

    pub(super) fn phase(&self, step: u64) -> Option<&Phase<C::Task>> {
        self.phase_and_end(step).map(|(phase, _)| phase)
    }

    fn phase_and_end(&self, step: u64) -> Option<(&Phase<C::Task>, u64)> {
        let mut ends = self.phases.iter().scan(0, |end, phase| {
            *end += phase.steps;
            Some((phase, *end))
        });
        ends.find(|(_, end)| step < *end)
    }

    /// The optimizer of a step; `None` after the last one.
    pub(super) fn optimizer_at(&self, step: u64) -> Option<AdamW> {
        let (phase, end) = self.phase_and_end(step)?;
        let OptimizerConfig { warmup_steps, beta1, beta2, eps, weight_decay, .. } = self.optimizer;
        let schedule = Schedule { learning_rate: phase.learning_rate, warmup_steps, decay_steps: phase.decay_steps };
        Some(AdamW { learning_rate: schedule.at(step, end), beta1, beta2, eps, weight_decay })
    }

    /// The model folder's `config.json`.
    pub(super) fn model_json(&self, vocab_size: usize, eos: u32, pad: u32) -> serde_json::Value {
        let model = &self.model;
        json!({
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "vocab_size": vocab_size,
            "hidden_size": model.hidden_size,
            "intermediate_size": model.intermediate_size,
            "num_hidden_layers": model.num_hidden_layers,
            "num_attention_heads": model.num_attention_heads,
            "num_key_value_heads": model.num_key_value_heads,
            "hidden_act": "silu",
            "max_position_embeddings": model.max_position_embeddings,
            "rms_norm_eps": 1e-6,
            "rope_theta": model.rope_theta,
            "tie_word_embeddings": true,
            "use_sliding_window": false,
            "torch_dtype": "bfloat16",
            "bos_token_id": null,
            "eos_token_id": eos,
            "pad_token_id": pad,
        })
    }

    fn check(&self) -> anyhow::Result<()> {
        self.compute.precision()?;
        ensure!(self.compute.threads > 0, "`compute.threads` is {}; it must be positive", self.compute.threads);
        ensure!(self.checkpoint_every > 0, "`checkpoint_every` is 0; it must be positive");
        ensure!(!self.phases.is_empty(), "`phases` is empty; at least one is needed");
        ensure!(
            self.rows.count > 0 && self.rows.tokens as i64 <= self.model.max_position_embeddings,
            "`rows` is {} of {} tokens; at least one row is needed, of at most `model.max_position_embeddings` ({})",
            self.rows.count,
            self.rows.tokens,
            self.model.max_position_embeddings
        );
        for phase in &self.phases {
            ensure!(phase.steps > 0, "phase `{}` has 0 steps; at least one is needed", phase.name);
            ensure!(
                phase.tasks.values().map(|share| share.share).sum::<f64>() > 0.0,
                "phase `{}` has no task with a share above 0",
                phase.name
            );
            for (task, share) in &phase.tasks {
                let mut levels = std::iter::once(&share.levels).chain(&share.trace_levels);
                ensure!(
                    share.share >= 0.0
                        && levels.all(|of| of.iter().all(|&level| level >= 0.0) && of.iter().sum::<f64>() > 0.0),
                    "`{task}` of phase `{}`: shares must be at least 0, and at least one level's above 0",
                    phase.name
                );
                ensure!(
                    (0.0..=1.0).contains(&share.trace),
                    "`{task}.trace` of phase `{}` is {}; it must be from 0 to 1",
                    phase.name,
                    share.trace
                );
                C::check(self, &phase.name, *task, share)?;
            }
        }
        Ok(())
    }
}
