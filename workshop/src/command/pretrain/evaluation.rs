//! Evaluation of a seedling: its proposals and its solutions.

mod propose;
mod solve;
mod stones;
mod ways;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use lyceum_core::prompt::{PromptSet, Rendered};
use lyceum_curriculum::Corpus;
use lyceum_verifier::{Check, ProblemKind, Task, Verdict, Verifier};

use super::completer::{Completer, Text};
use super::config::PretrainConfig;
use super::figures::Evaluation;
use super::problem::Problem;
use super::programs::Programs;
use super::training::Totals;

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
        let completer = Completer::load(
            folder,
            &config.compute.device,
            config.seed,
            config.evaluation.max_tokens,
        )?;
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
        let stop = if solving {
            self.prompts.grammar.solver_stops()
        } else {
            Vec::new()
        };
        self.completer.complete(path, prompts, samples, temperature, &stop)
    }
}

fn is_right(verdict: &Result<Verdict, String>) -> bool {
    verdict.as_ref().is_ok_and(|verdict| verdict.correct == Some(true))
}
