//! Measuring a seedling: what it proposes, and what it solves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lyceum_core::prompt::{PromptSet, ProposalText, Reference, Rendered, compact_literal};
use lyceum_core::seed;
use lyceum_core::work::{FinishReason, Prompt};
use lyceum_curriculum::{Corpus, Executed, Level};
use lyceum_engine::generate::{
    self, GenerationEvent, GenerationOptions, GenerationRequest, Generator, SamplingParams, StopConditions,
};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, Placement};
use lyceum_verifier::{Check, ProblemType, Proposal, Task, Verdict, Verifier};
use rand::Rng as _;
use rand::seq::IndexedRandom as _;

use super::config::PretrainConfig;
use super::figures::{Band, Evaluation, OwnProblems, Proposals, share};
use super::guess::Guessers;
use super::problem::Problem;
use super::tally::Tally;
use crate::command::progress::progress_bar;

/// The types, in the order of the report.
const PROBLEMS: [ProblemType; 3] = [ProblemType::CodeO, ProblemType::CodeI, ProblemType::CodeF];

/// A model with what it is measured against.
pub(super) struct Evaluator<'a> {
    config: &'a PretrainConfig,
    corpus: &'a Corpus,
    verifier: &'a Verifier,
    folder: PathBuf,
    model: Model,
    tokenizer: Tokenizer,
    prompts: PromptSet,
}

/// The text of a completion and why it ended.
type Text = (String, FinishReason);

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        config: &'a PretrainConfig,
        corpus: &'a Corpus,
        verifier: &'a Verifier,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let placement = Placement::new(&config.compute.device, lyceum_engine::Precision::Fp32)?;
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
        let mut problems: HashMap<ProblemType, Vec<Problem>> = HashMap::new();
        for problem in [ProblemType::CodeO, ProblemType::CodeI] {
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
        problems.insert(ProblemType::CodeF, valid);
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
        })
    }

    /// Held-out problems of each type, by level, each answered `samples` times.
    pub(super) fn held_out_bands(&self, samples: usize) -> anyhow::Result<BTreeMap<String, Vec<Band>>> {
        let of = |problem: ProblemType| Ok((problem.name().to_owned(), self.held_out(problem, samples)?));
        PROBLEMS.into_iter().map(of).collect()
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

    fn propose_io(&self, problem: ProblemType, references: usize) -> anyhow::Result<(Proposals, Vec<Problem>)> {
        let count = self.config.evaluation.proposals;
        let path = format!("evaluation/propose/{}/{references}", problem.name());
        let prompts = (0..count).map(|item| {
            let mut rng = seed::stream(self.config.seed, &path, item as u64);
            let references: Vec<Reference> = (0..references)
                .filter_map(|_| {
                    let executed = self.corpus.training.choose(&mut rng)?;
                    let (input, output) = executed.pairs.choose(&mut rng)?;
                    Some(Reference {
                        program: executed.source.clone(),
                        input: input.clone(),
                        output: output.clone(),
                    })
                })
                .collect();
            self.prompts.propose_io(problem, &references)
        });
        let texts = self.complete(&path, prompts.collect::<Result<Vec<_>, _>>()?, 1)?;
        let read: Vec<_> = texts
            .iter()
            .flatten()
            .map(|(text, finish)| self.prompts.grammar.proposal(problem, text, *finish, "", 1))
            .collect();
        let tasks = read.iter().map(|read| match read {
            Ok(ProposalText::Io { program, input }) => Ok(Proposal::Io {
                problem,
                program: program.clone(),
                input: input.clone(),
            }),
            Ok(ProposalText::Function { .. }) => Err("it is of another type".to_owned()),
            Err(reason) => Err(reason.clone()),
        });
        let verdicts = self.judge(tasks.map(|task| task.map(Check::Propose)));
        let training: HashSet<&str> = self
            .corpus
            .training
            .iter()
            .map(|executed| executed.source.as_str())
            .collect();
        let mut tally = Tally::default();
        let mut valid = Vec::new();
        for (read, verdict) in read.into_iter().zip(verdicts) {
            let (Ok(ProposalText::Io { program, input }), Ok(verdict)) = (read, &verdict) else {
                tally.malformed();
                continue;
            };
            let known = training.contains(program.as_str());
            if let (true, Some(output)) = (tally.judged(verdict, program.clone(), known), &verdict.output) {
                let pairs = vec![(input, output.clone())];
                valid.push(Problem {
                    program,
                    pairs,
                    message: String::new(),
                });
            }
        }
        Ok((tally.figures(problem, references, count), valid))
    }

    fn propose_function(&self, programs: &[&str]) -> anyhow::Result<(Proposals, Vec<Problem>)> {
        let problem = ProblemType::CodeF;
        let (count, wanted) = (self.config.evaluation.proposals, self.config.samples.num_inputs);
        let path = "evaluation/propose/code_f";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let about: Vec<&str> = (0..count).filter_map(|_| programs.choose(&mut rng).copied()).collect();
        let prompts = about
            .iter()
            .map(|program| self.prompts.propose_function(program, wanted));
        let texts = self.complete(path, prompts.collect::<Result<Vec<_>, _>>()?, 1)?;
        let read: Vec<_> = texts
            .iter()
            .flatten()
            .map(|(text, finish)| self.prompts.grammar.proposal(problem, text, *finish, "", wanted))
            .collect();
        let tasks = about.iter().zip(&read).map(|(program, read)| match read {
            Ok(ProposalText::Function { inputs, message }) => Ok(Check::Propose(Proposal::Function {
                program: (*program).to_owned(),
                inputs: inputs.clone(),
                message: message.clone(),
            })),
            Ok(ProposalText::Io { .. }) => Err("it is of another type".to_owned()),
            Err(reason) => Err(reason.clone()),
        });
        let verdicts = self.judge(tasks);
        let mut tally = Tally::default();
        let mut valid = Vec::new();
        for ((program, read), verdict) in about.iter().zip(read).zip(verdicts) {
            let (Ok(ProposalText::Function { inputs, message }), Ok(verdict)) = (read, &verdict) else {
                tally.malformed();
                continue;
            };
            let key = format!("{program}<in>{}<msg>{message}", inputs.join("<in>"));
            let outputs = verdict.outputs.clone().unwrap_or_default();
            if tally.judged(verdict, key, self.lists(program, &inputs)) {
                valid.push(Problem {
                    program: (*program).to_owned(),
                    pairs: inputs.into_iter().zip(outputs).collect(),
                    message,
                });
            }
        }
        Ok((tally.figures(problem, 0, count), valid))
    }

    /// Whether a training program of this source has all of these inputs.
    fn lists(&self, program: &str, inputs: &[String]) -> bool {
        self.corpus.training.iter().any(|executed| {
            executed.source == program
                && inputs.iter().all(|input| {
                    executed
                        .pairs
                        .iter()
                        .any(|(listed, _)| listed == &compact_literal(input))
                })
        })
    }

    fn own(&self, problem: ProblemType, problems: &[Problem]) -> anyhow::Result<OwnProblems> {
        let samples = self.config.evaluation.samples;
        let solved = self.solve(
            &format!("evaluation/own/{}", problem.name()),
            problem,
            problems,
            samples,
        )?;
        let right: Vec<usize> = solved
            .iter()
            .map(|answers| answers.iter().filter(|&&(right, _)| right).count())
            .collect();
        let of =
            |accept: &dyn Fn(usize) -> bool| share(right.iter().filter(|&&right| accept(right)).count(), right.len());
        Ok(OwnProblems {
            problems: problems.len(),
            samples,
            passed: share(right.iter().sum(), samples * problems.len()),
            never: of(&|right| right == 0),
            sometimes: of(&|right| right > 0 && right < samples),
            always: of(&|right| right == samples),
        })
    }

    fn held_out(&self, problem: ProblemType, samples: usize) -> anyhow::Result<Vec<Band>> {
        let guessers = Guessers::new(&self.corpus.training);
        let mut bands = Vec::new();
        for level in Level::ALL {
            let of_level: Vec<&Executed> = self
                .corpus
                .held_out
                .iter()
                .filter(|executed| executed.level == level)
                .take(self.config.evaluation.held_out)
                .collect();
            let problems: Vec<Problem> = of_level.iter().map(|executed| self.posed(problem, executed)).collect();
            let path = format!("evaluation/held-out/{}/{level}", problem.name());
            let solved = self.solve(&path, problem, &problems, samples)?;
            let answers: Vec<(bool, bool)> = solved.into_iter().flatten().collect();
            let mut guessed = BTreeMap::new();
            for (name, guess) in guessers.of(problem) {
                let checks = problems.iter().zip(&of_level).map(|(posed, executed)| {
                    match guess(posed.shown(problem), executed) {
                        Some(answer) => Ok(posed.check(problem, answer)),
                        None => Err(String::new()),
                    }
                });
                let right = self.judge(checks).into_iter().filter(is_right).count();
                guessed.insert(name.to_owned(), share(right, problems.len()));
            }
            bands.push(Band {
                level: level.number(),
                problems: problems.len(),
                passed: share(answers.iter().filter(|(right, _)| *right).count(), answers.len()),
                well_formed: share(answers.iter().filter(|(_, formed)| *formed).count(), answers.len()),
                guessers: guessed,
            });
        }
        Ok(bands)
    }

    /// A held-out program as a problem: about one of its pairs, or about as many as a proposal lists.
    fn posed(&self, problem: ProblemType, executed: &Executed) -> Problem {
        let count = match problem {
            ProblemType::CodeF => self.config.samples.num_inputs,
            ProblemType::CodeI | ProblemType::CodeO => 1,
        };
        let mut rng = seed::stream(self.config.seed, &executed.source, 1);
        let start = rng.random_range(0..executed.pairs.len().max(1));
        Problem {
            program: executed.source.clone(),
            pairs: executed.pairs.iter().cycle().skip(start).take(count).cloned().collect(),
            message: lyceum_curriculum::message::message(&executed.source),
        }
    }

    /// For each problem and sample: whether the answer is right, and whether it has the format.
    fn solve(
        &self,
        path: &str,
        problem: ProblemType,
        problems: &[Problem],
        samples: usize,
    ) -> anyhow::Result<Vec<Vec<(bool, bool)>>> {
        let prompts = problems.iter().map(|posed| posed.prompt(problem, &self.prompts));
        let texts = self.complete(path, prompts.collect::<Result<Vec<_>, _>>()?, samples)?;
        let answers = problems.iter().zip(&texts).flat_map(|(posed, texts)| {
            texts.iter().map(move |(text, finish)| {
                let answer = self.prompts.grammar.answer(problem, text, *finish, "")?;
                Ok(posed.check(problem, answer))
            })
        });
        let judged = self.judge(answers);
        let pairs: Vec<(bool, bool)> = judged
            .into_iter()
            .map(|verdict| {
                let formed = verdict
                    .as_ref()
                    .is_ok_and(|verdict| !self.prompts.grammar.is_unreadable(verdict.status));
                (is_right(&verdict), formed)
            })
            .collect();
        Ok(pairs.chunks(samples.max(1)).map(<[_]>::to_vec).collect())
    }

    /// Verdicts in order; what could not be read keeps its reason.
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

    /// `samples` completions of each prompt at temperature 1.
    fn complete(&self, path: &str, prompts: Vec<Rendered>, samples: usize) -> anyhow::Result<Vec<Vec<Text>>> {
        let solving = !path.contains("propose");
        let requests = prompts.iter().enumerate().map(|(item, rendered)| {
            let Prompt::Text(text) = &rendered.prompt else {
                anyhow::bail!("the prompts of the seedling are texts");
            };
            let prompt = self.tokenizer.encode(text)?;
            let room = (self.model.config.max_position_embeddings as usize).saturating_sub(prompt.len());
            Ok(GenerationRequest {
                id: item.to_string(),
                max_tokens: self.config.evaluation.max_tokens.min(room),
                prompt,
                adapter: None,
                n: samples,
                sampling: SamplingParams::default(),
                seed: seed::derive(self.config.seed, path, item as u64),
                stop: StopConditions {
                    strings: if solving {
                        self.prompts.grammar.solver_stops()
                    } else {
                        Vec::new()
                    },
                    ..StopConditions::default()
                },
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
        let text = |completion: generate::Completion| -> Text {
            let finish = match completion.finish_reason {
                generate::FinishReason::Stop => FinishReason::Stop,
                generate::FinishReason::Length => FinishReason::Length,
            };
            (completion.text.unwrap_or_default(), finish)
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
