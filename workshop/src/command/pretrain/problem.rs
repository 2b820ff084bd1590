//! Problems with a known answer, how a model completes them, and the accuracy of guessing and counting.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use lyceum_core::problem::Statement;
use lyceum_core::prompt::{PromptError, PromptSet, Rendered};
use lyceum_core::seed;
use lyceum_core::work::{Dtype, FinishReason, Prompt, Sampling};
use lyceum_curriculum::Executed;
use lyceum_curriculum::message::message;
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement, generate};
use lyceum_verifier::{Check, ProblemKind, Solution, Verdict};
use lyceum_worker::progress::progress_bar;

use super::figures::{Proposals, share};

/// A problem with a known answer.
pub(super) struct Problem {
    pub(super) program: String,
    /// The first is the one asked about, except for code_f, which uses them all.
    pub(super) pairs: Vec<(String, String)>,
    pub(super) message: String,
    /// How many pairs a solver of code_f sees; half of them if `None`.
    pub(super) shown: Option<usize>,
}

impl Problem {
    pub(super) fn prompt(&self, problem: ProblemKind, prompts: &PromptSet) -> Result<Rendered, PromptError> {
        let (input, output) = self.pairs.first().map_or(("", ""), |(input, output)| (input.as_str(), output.as_str()));
        let program = self.program.as_str();
        prompts.solve(&match problem {
            ProblemKind::CodeO => Statement::Output { program, input },
            ProblemKind::CodeI => Statement::Input { program, output },
            _ => {
                let pairs = self.shown(problem).iter();
                Statement::Function {
                    message: &self.message,
                    pairs: pairs.map(|(input, output)| (input.as_str(), output.as_str())).collect(),
                }
            }
        })
    }

    /// The pairs that a solver may see, in whole or in part.
    pub(super) fn shown(&self, problem: ProblemKind) -> &[(String, String)] {
        match problem {
            ProblemKind::CodeI | ProblemKind::CodeO => &self.pairs,
            _ => &self.pairs[..self.shown.unwrap_or(self.pairs.len().div_ceil(2)).min(self.pairs.len())],
        }
    }

    pub(super) fn check(&self, problem: ProblemKind, answer: String) -> Check {
        let (input, output) = self.pairs.first().cloned().unwrap_or_default();
        Check::Solve(match problem {
            ProblemKind::CodeO => Solution::Output { program: self.program.clone(), input, answer },
            ProblemKind::CodeI => Solution::Input { program: self.program.clone(), output, answer },
            _ => Solution::Function { pairs: self.pairs.clone(), answer },
        })
    }
}

/// Guesses the answer from the pairs that the solver may see and the problem's program; `None` if it has no guess.
pub(super) type Guess<'a> = Box<dyn Fn(&[(String, String)], &Executed) -> Option<String> + 'a>;

/// Guessers based on the training programs.
pub(super) struct Guessers<'a> {
    /// The commonest output by first character, which indicates the type.
    commonest: HashMap<char, &'a str>,
    by_message: HashMap<String, &'a str>,
}

impl<'a> Guessers<'a> {
    pub(super) fn new(training: &'a [Executed]) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for (_, output) in training.iter().flat_map(|executed| &executed.pairs) {
            *counts.entry(output).or_default() += 1;
        }
        let mut ordered: Vec<(&str, usize)> = counts.into_iter().collect();
        ordered.sort_by_key(|&(output, count)| (std::cmp::Reverse(count), output));
        let mut commonest = HashMap::new();
        for (output, _) in ordered {
            commonest.entry(kind(output)).or_insert(output);
        }
        let by_message =
            training.iter().map(|executed| (message(&executed.source), executed.source.as_str())).collect();
        Self { commonest, by_message }
    }

    /// The guessers of a type, by name.
    pub(super) fn of(&self, problem: ProblemKind) -> Vec<(&'static str, Guess<'_>)> {
        match problem {
            ProblemKind::CodeO => vec![
                (
                    "the commonest output of the right type",
                    Box::new(|shown, _| {
                        let (_, output) = shown.first()?;
                        self.commonest.get(&kind(output)).map(|output| (*output).to_owned())
                    }),
                ),
                ("the input", Box::new(|shown, _| shown.first().map(|(input, _)| input.clone()))),
            ],
            ProblemKind::CodeI => vec![(
                "another input of the right types",
                Box::new(|shown, executed| {
                    let (asked, _) = shown.first()?;
                    let at = executed.pairs.iter().position(|(input, _)| input == asked)?;
                    let other = (at + 1) % executed.pairs.len();
                    executed.pairs.get(other).map(|(input, _)| input.clone())
                }),
            )],
            _ => vec![(
                "a training program with the same message",
                Box::new(|_, executed| {
                    self.by_message.get(&message(&executed.source)).map(|source| (*source).to_owned())
                }),
            )],
        }
    }
}

/// A character that identifies the type of an output.
fn kind(output: &str) -> char {
    match output.chars().next() {
        Some(first) if first.is_ascii_digit() || first == '-' => '0',
        // A list of strings counts as a different type from a list of integers.
        Some('[') if output.contains(['\'', '"']) => '\'',
        Some('\'' | '"') => 's',
        Some(other) => other,
        None => ' ',
    }
}

/// Counts of proposals of one type.
#[derive(Default)]
pub(super) struct Tally {
    well_formed: usize,
    valid: usize,
    known: usize,
    seen: HashSet<String>,
    ast_depth: u32,
    loc: u32,
    faults: BTreeMap<String, usize>,
}

impl Tally {
    pub(super) fn malformed(&mut self) {
        *self.faults.entry("format".to_owned()).or_default() += 1;
    }

    /// Counts a verdict; returns whether the proposal is valid.
    pub(super) fn judged(&mut self, verdict: &Verdict, key: String, known: bool) -> bool {
        self.well_formed += 1;
        if verdict.valid != Some(true) {
            *self.faults.entry(verdict.status.name().to_owned()).or_default() += 1;
            return false;
        }
        self.valid += 1;
        self.known += usize::from(known);
        self.seen.insert(key);
        if let Some(complexity) = &verdict.complexity {
            self.ast_depth += complexity.ast_depth;
            self.loc += complexity.loc;
        }
        true
    }

    pub(super) fn figures(self, problem: ProblemKind, references: usize, asked: usize) -> Proposals {
        let mean = |sum: u32| share(sum as usize, self.valid);
        Proposals {
            problem: problem.name().to_owned(),
            references,
            asked,
            well_formed: share(self.well_formed, asked),
            valid: share(self.valid, asked),
            distinct: share(self.seen.len(), self.valid),
            verbatim: share(self.known, self.valid),
            ast_depth: mean(self.ast_depth),
            loc: mean(self.loc),
            faults: self.faults,
        }
    }
}

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
        Ok(Self { model, tokenizer, seed, max_tokens })
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
            matrices.iter().map(|tensor| tensor.size().iter().product::<i64>()).chain(biases).sum::<i64>()
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
        let generator = Generator { model: &self.model, population: None, tokenizer: Some(&self.tokenizer) };
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
        let texts = generated.results.into_iter().map(|result| result.completions.into_iter().map(text).collect());
        Ok(texts.collect())
    }
}
