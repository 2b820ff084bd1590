//! Evaluation of a seedling: its proposals and its solutions.

mod solve;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use lyceum_core::prompt::{PromptSet, ProposalText, Reference, Rendered, compact_literal};
use lyceum_core::seed;
use lyceum_core::verify::Proposal;
use lyceum_core::work::Prompt;
use lyceum_curriculum::Corpus;
use lyceum_curriculum::sample::{StoneSpec, StoneTask};
use lyceum_verifier::{Check, ProblemKind, Task, Verdict, Verifier};
use rand::seq::IndexedRandom as _;

use super::config::PretrainConfig;
use super::figures::Evaluation;
use super::problem::{Completer, Problem, Text};
use super::programs::Programs;
use super::training::Totals;
use crate::command::pretrain::figures::{Proposals, Stones, share};
use crate::command::pretrain::problem::Tally;

/// The types, in the order of the report.
const PROBLEMS: [ProblemKind; 3] = [ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF];

/// A model with the data it is evaluated on.
pub(super) struct Evaluator<'a> {
    config: &'a PretrainConfig<Programs>,
    corpus: &'a Corpus,
    verifier: &'a Verifier,
    folder: PathBuf,
    completer: Completer,
    prompts: PromptSet,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        config: &'a PretrainConfig<Programs>,
        corpus: &'a Corpus,
        verifier: &'a Verifier,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let completer = Completer::load(folder, &config.compute.device, config.seed, config.evaluation.max_tokens)?;
        Ok(Self {
            config,
            corpus,
            verifier,
            folder: folder.to_owned(),
            completer,
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
        let programs: Vec<&str> = problems.values().flatten().map(|problem| problem.program.as_str()).collect();
        let (figures, valid) = self.propose_function(&programs)?;
        proposals.push(figures);
        problems.insert(ProblemKind::CodeF, valid);
        let mut own = BTreeMap::new();
        for problem in PROBLEMS {
            let of_type = problems.get(&problem).map_or(&[][..], Vec::as_slice);
            own.insert(problem.name().to_owned(), self.own(problem, of_type)?);
        }
        Ok(Evaluation {
            training: Totals::of(&self.folder)?,
            parameters: self.completer.parameters(),
            proposals,
            own,
            held_out: self.held_out_bands(1)?,
            stones: self.stones()?,
            ways: match self.config.evaluation.ways {
                0 => BTreeMap::new(),
                count => self.ways(count, self.config.evaluation.samples)?,
            },
        })
    }

    /// Verdicts in order; checks that could not be parsed keep their reason.
    fn judge(&self, checks: impl Iterator<Item = Result<Check, String>>) -> Vec<Result<Verdict, String>> {
        let checks: Vec<_> = checks.collect();
        let readable = checks
            .iter()
            .filter_map(|check| check.as_ref().ok())
            .map(|check| Task { id: String::new(), check: check.clone() });
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
        let stop = if solving { self.prompts.grammar.solver_stops() } else { Vec::new() };
        self.completer.complete(path, prompts, samples, temperature, &stop)
    }
}

fn is_right(verdict: &Result<Verdict, String>) -> bool {
    verdict.as_ref().is_ok_and(|verdict| verdict.correct == Some(true))
}

impl Evaluator<'_> {
    fn propose_io(&self, problem: ProblemKind, references: usize) -> anyhow::Result<(Proposals, Vec<Problem>)> {
        let count = self.config.evaluation.proposals;
        let path = format!("evaluation/propose/{}/{references}", problem.name());
        let prompts = (0..count).map(|item| {
            let mut rng = seed::stream(self.config.seed, &path, item as u64);
            let references: Vec<Reference> = (0..references)
                .filter_map(|_| {
                    let executed = self.corpus.training.choose(&mut rng)?;
                    let (input, output) = executed.pairs.choose(&mut rng)?;
                    Some(Reference { program: executed.source.clone(), input: input.clone(), output: output.clone() })
                })
                .collect();
            self.prompts.propose_io(problem, &references)
        });
        let texts = self.complete(&path, prompts.collect::<Result<Vec<_>, _>>()?, 1, 1.0)?;
        let read: Vec<_> = texts
            .iter()
            .flatten()
            .map(|Text { text, finish, .. }| self.prompts.grammar.proposal(problem, text, *finish, "", 1))
            .collect();
        let tasks = read.iter().map(|read| match read {
            Ok(ProposalText::Io { program, input }) => {
                Ok(Proposal::Io { problem, program: program.clone(), input: input.clone() })
            }
            Ok(ProposalText::Function { .. }) => Err("it is of another type".to_owned()),
            Err(reason) => Err(reason.clone()),
        });
        let verdicts = self.judge(tasks.map(|task| task.map(Check::Propose)));
        let training: HashSet<&str> = self.corpus.training.iter().map(|executed| executed.source.as_str()).collect();
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
                valid.push(Problem { program, pairs, message: String::new(), shown: None });
            }
        }
        Ok((tally.figures(problem, references, count), valid))
    }

    fn propose_function(&self, programs: &[&str]) -> anyhow::Result<(Proposals, Vec<Problem>)> {
        let problem = ProblemKind::CodeF;
        let (count, wanted) = (self.config.evaluation.proposals, self.config.samples.num_inputs);
        let path = "evaluation/propose/code_f";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let about: Vec<&str> = (0..count).filter_map(|_| programs.choose(&mut rng).copied()).collect();
        let prompts = about.iter().map(|program| self.prompts.propose_function(program, wanted));
        let texts = self.complete(path, prompts.collect::<Result<Vec<_>, _>>()?, 1, 1.0)?;
        let read: Vec<_> = texts
            .iter()
            .flatten()
            .map(|Text { text, finish, .. }| self.prompts.grammar.proposal(problem, text, *finish, "", wanted))
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
                    shown: None,
                });
            }
        }
        Ok((tally.figures(problem, 0, count), valid))
    }

    /// Whether a training program with this source has all of these inputs.
    fn lists(&self, program: &str, inputs: &[String]) -> bool {
        self.corpus.training.iter().any(|executed| {
            executed.source == program
                && inputs.iter().all(|input| executed.pairs.iter().any(|(listed, _)| listed == &compact_literal(input)))
        })
    }
}

/// Attempts at each stone, as in the paper.
const TRIALS: usize = 10;

impl Evaluator<'_> {
    /// By task: stones from held-out programs, each attempted ten times. Lemmas are made from programs of levels 3 to 5,
    /// as goalposts are, and lifts from those of levels 1 to 3, as lemmas are.
    fn stones(&self) -> anyhow::Result<BTreeMap<String, Stones>> {
        let Some(spec) = self.config.samples.stones else { return Ok(BTreeMap::new()) };
        let tasks = StoneTask::ALL.into_iter();
        tasks.map(|task| Ok((task.name().to_owned(), self.stones_of(task, &spec)?))).collect()
    }

    fn stones_of(&self, task: StoneTask, spec: &StoneSpec) -> anyhow::Result<Stones> {
        let count = self.config.evaluation.stones;
        let levels = if task.is_lemma() { 3..=5 } else { 1..=3 };
        let held_out = self.corpus.held_out.iter();
        let given: Vec<_> = held_out.filter(|program| levels.contains(&program.level.number())).collect();
        let path = format!("evaluation/propose/{task}");
        let prompts = (0..count).filter_map(|item| {
            let program = given.choose(&mut seed::stream(self.config.seed, &path, item as u64))?;
            let text = task.prompt(&program.source, program.pairs.iter().take(spec.shown));
            Some(Rendered { prompt: Prompt::Text(text.clone()), text })
        });
        let texts = self.complete(&path, prompts.collect(), 1, 1.0)?;
        let grammar = self.prompts.grammar;
        let read: Vec<Result<Proposal, String>> = texts
            .iter()
            .flatten()
            .map(|Text { text, finish, .. }| grammar.posed_function(text, *finish, "", spec.pairs))
            .collect();
        let verdicts = self.judge(read.iter().map(|read| read.clone().map(Check::Propose)));
        let mut problems = Vec::new();
        for (read, verdict) in read.iter().zip(verdicts) {
            let (Ok(Proposal::Function { program, inputs, message }), Ok(verdict)) = (read, verdict) else { continue };
            if let (Some(true), Some(outputs)) = (verdict.valid, verdict.outputs) {
                problems.push(Problem {
                    program: program.clone(),
                    pairs: inputs.iter().cloned().zip(outputs).collect(),
                    message: message.clone(),
                    shown: Some(spec.shown),
                });
            }
        }
        let solved = self.solve(&format!("evaluation/{task}"), ProblemKind::CodeF, &problems, TRIALS)?;
        let right: Vec<usize> =
            solved.iter().map(|answers| answers.iter().filter(|(right, _)| *right).count()).collect();
        let band = if task.is_lemma() { 3..=7 } else { 1..=5 };
        Ok(Stones {
            asked: count,
            well_formed: share(read.iter().filter(|read| read.is_ok()).count(), count),
            valid: share(problems.len(), count),
            passed: share(right.iter().sum(), TRIALS * right.len()),
            in_band: share(right.iter().filter(|right| band.contains(*right)).count(), count),
        })
    }
}
