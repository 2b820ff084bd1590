//! Completions of a model under evaluation.

use std::path::Path;

use lyceum_core::prompt::Rendered;
use lyceum_core::seed;
use lyceum_core::work::{Dtype, FinishReason, Prompt, Sampling};
use lyceum_engine::generate::{self, GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement};
use lyceum_worker::progress::progress_bar;

/// A model and its tokenizer.
pub(super) struct Completer {
    model: Model,
    tokenizer: Tokenizer,
    seed: u64,
    max_tokens: usize,
}

/// A completion.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) finish: FinishReason,
    pub(super) tokens: usize,
}

impl Completer {
    /// The model in a folder. Completions depend on `seed`, and have at most `max_tokens` tokens.
    pub(super) fn load(folder: &Path, device: &str, seed: u64, max_tokens: usize) -> anyhow::Result<Self> {
        let model = Model::load(folder, Placement::new(device, Dtype::Fp32)?)?;
        let tokenizer = Tokenizer::load(folder, &model.config)?;
        Ok(Self {
            model,
            tokenizer,
            seed,
            max_tokens,
        })
    }

    /// Total number of weights.
    pub(super) fn parameters(&self) -> usize {
        let layers = self.model.layers.iter().map(|layer| {
            let matrices = [
                &layer.input_layernorm,
                &layer.qkv_proj,
                &layer.o_proj,
                &layer.post_attention_layernorm,
                &layer.gate_up_proj,
                &layer.down_proj,
            ];
            let biases = layer.qkv_bias.iter().map(|bias| bias.size().iter().product::<i64>());
            matrices
                .iter()
                .map(|tensor| tensor.size().iter().product::<i64>())
                .chain(biases)
                .sum::<i64>()
        });
        let embedding = self.model.config.vocab_size * self.model.config.hidden_size;
        (layers.sum::<i64>() + embedding + self.model.config.hidden_size) as usize
    }

    /// `samples` completions of each prompt at a temperature.
    pub(super) fn complete(
        &self,
        path: &str,
        prompts: Vec<Rendered>,
        samples: usize,
        temperature: f64,
        stop: &[String],
    ) -> anyhow::Result<Vec<Vec<Text>>> {
        let requests = prompts.iter().enumerate().map(|(item, rendered)| {
            let Prompt::Text(text) = &rendered.prompt else {
                anyhow::bail!("the prompts of a small base are texts");
            };
            let prompt = self.tokenizer.encode(text)?;
            let room = (self.model.config.max_position_embeddings as usize).saturating_sub(prompt.len());
            Ok(GenerationRequest {
                id: item.to_string(),
                prompt,
                adapter: None,
                n: samples,
                sampling: Sampling {
                    temperature,
                    max_tokens: self.max_tokens.min(room) as u32,
                    stop: stop.to_vec(),
                    ..Sampling::default()
                },
                seed: seed::derive(self.seed, path, item as u64),
            })
        });
        let requests = requests.collect::<anyhow::Result<Vec<_>>>()?;
        let generator = Generator {
            model: &self.model,
            population: None,
            tokenizer: Some(&self.tokenizer),
        };
        let bar = progress_bar((requests.len() * samples) as u64, "completions");
        bar.set_message(path.to_owned());
        let generated = generator.generate(&requests, &GenerationOptions::default(), &mut |event| {
            if let GenerationEvent::Progress { finished, .. } = event {
                bar.set_position(finished as u64);
            }
        })?;
        bar.finish_and_clear();
        let text = |completion: generate::Completion| Text {
            tokens: completion.ids.len(),
            text: completion.text.unwrap_or_default(),
            finish: completion.finish_reason,
        };
        let texts = generated
            .results
            .into_iter()
            .map(|result| result.completions.into_iter().map(text).collect());
        Ok(texts.collect())
    }
}
