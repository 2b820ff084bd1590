//! Evaluation of a seedling: its proposals and its solutions.

mod propose;
mod solve;
mod ways;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lyceum_core::prompt::{PromptSet, Rendered};
use lyceum_core::seed;
use lyceum_core::work::{Dtype, FinishReason, Prompt, Sampling};
use lyceum_curriculum::Corpus;
use lyceum_engine::generate::{self, GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement};
use lyceum_verifier::{Check, ProblemKind, Task, Verdict, Verifier};
use lyceum_worker::progress::progress_bar;

use super::config::PretrainConfig;
use super::figures::Evaluation;
use super::problem::Problem;

/// The types, in the order of the report.
const PROBLEMS: [ProblemKind; 3] = [ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF];

/// A model with the data it is evaluated on.
pub(super) struct Evaluator<'a> {
    config: &'a PretrainConfig,
    corpus: &'a Corpus,
    verifier: &'a Verifier,
    folder: PathBuf,
    model: Model,
    tokenizer: Tokenizer,
    prompts: PromptSet,
}

/// A completion.
struct Text {
    text: String,
    finish: FinishReason,
    tokens: usize,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        config: &'a PretrainConfig,
        corpus: &'a Corpus,
        verifier: &'a Verifier,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let placement = Placement::new(&config.compute.device, Dtype::Fp32)?;
        let model = Model::load(folder, placement)?;
        let tokenizer = Tokenizer::load(folder, &model.config)?;
        Ok(Self {
            config,
            corpus,
            verifier,
            folder: folder.to_owned(),
            model,
            tokenizer,
            prompts: PromptSet::shipped("seedling")?,
        })
    }

    pub(super) fn run(&self) -> anyhow::Result<Evaluation> {
        let mut proposals = Vec::new();
        let mut problems: HashMap<ProblemKind, Vec<Problem>> = HashMap::new();
        for problem in [ProblemKind::CodeO, ProblemKind::CodeI] {
            for references in [0, self.config.samples.references] {
                let (figures, valid) = self.propose_io(problem, references)?;
                proposals.push(figures);
                if references == 0 {
                    problems.insert(problem, valid);
                }
            }
        }
        let programs: Vec<&str> = problems
            .values()
            .flatten()
            .map(|problem| problem.program.as_str())
            .collect();
        let (figures, valid) = self.propose_function(&programs)?;
        proposals.push(figures);
        problems.insert(ProblemKind::CodeF, valid);
        let mut own = BTreeMap::new();
        for problem in PROBLEMS {
            let of_type = problems.get(&problem).map_or(&[][..], Vec::as_slice);
            own.insert(problem.name().to_owned(), self.own(problem, of_type)?);
        }
        let path = self.folder.join("training.json");
        let training = match std::fs::read_to_string(&path) {
            Ok(text) => Some(serde_json::from_str(&text).with_context(|| path.display().to_string())?),
            Err(_) => None,
        };
        Ok(Evaluation {
            training,
            parameters: self.parameters(),
            proposals,
            own,
            held_out: self.held_out_bands(1)?,
            ways: match self.config.evaluation.ways {
                0 => BTreeMap::new(),
                count => self.ways(count, self.config.evaluation.samples)?,
            },
        })
    }

    fn parameters(&self) -> usize {
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

    /// Verdicts in order; checks that could not be parsed keep their reason.
    fn judge(&self, checks: impl Iterator<Item = Result<Check, String>>) -> Vec<Result<Verdict, String>> {
        let checks: Vec<_> = checks.collect();
        let readable = checks.iter().filter_map(|check| check.as_ref().ok()).map(|check| Task {
            id: String::new(),
            check: check.clone(),
        });
        let mut verdicts = self.verifier.judge_all(readable.collect::<Vec<_>>());
        let verdict = |check: &Result<Check, String>| match check {
            Ok(_) => verdicts.next().ok_or_else(|| "it was not judged".to_owned()),
            Err(reason) => Err(reason.clone()),
        };
        checks.iter().map(verdict).collect()
    }

    /// `samples` completions of each prompt at a temperature.
    fn complete(
        &self,
        path: &str,
        prompts: Vec<Rendered>,
        samples: usize,
        temperature: f64,
    ) -> anyhow::Result<Vec<Vec<Text>>> {
        let solving = !path.contains("propose");
        let requests = prompts.iter().enumerate().map(|(item, rendered)| {
            let Prompt::Text(text) = &rendered.prompt else {
                anyhow::bail!("the prompts of the seedling are texts");
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
                    max_tokens: self.config.evaluation.max_tokens.min(room) as u32,
                    stop: if solving {
                        self.prompts.grammar.solver_stops()
                    } else {
                        Vec::new()
                    },
                    ..Sampling::default()
                },
                seed: seed::derive(self.config.seed, path, item as u64),
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

fn is_right(verdict: &Result<Verdict, String>) -> bool {
    verdict.as_ref().is_ok_and(|verdict| verdict.correct == Some(true))
}
