//! Evaluation of a seedling's proposals.

use std::collections::HashSet;

use lyceum_core::prompt::{ProposalText, Reference, compact_literal};
use lyceum_core::seed;
use lyceum_verifier::{Check, ProblemKind, Proposal};
use rand::seq::IndexedRandom as _;

use super::{Evaluator, Text};
use crate::command::pretrain::figures::Proposals;
use crate::command::pretrain::problem::Problem;
use crate::command::pretrain::tally::Tally;

impl Evaluator<'_> {
    pub(super) fn propose_io(
        &self,
        problem: ProblemKind,
        references: usize,
    ) -> anyhow::Result<(Proposals, Vec<Problem>)> {
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
        let texts = self.complete(&path, prompts.collect::<Result<Vec<_>, _>>()?, 1, 1.0)?;
        let read: Vec<_> = texts
            .iter()
            .flatten()
            .map(|Text { text, finish, .. }| self.prompts.grammar.proposal(problem, text, *finish, "", 1))
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
                    shown: None,
                });
            }
        }
        Ok((tally.figures(problem, references, count), valid))
    }

    pub(super) fn propose_function(&self, programs: &[&str]) -> anyhow::Result<(Proposals, Vec<Problem>)> {
        let problem = ProblemKind::CodeF;
        let (count, wanted) = (self.config.evaluation.proposals, self.config.samples.num_inputs);
        let path = "evaluation/propose/code_f";
        let mut rng = seed::stream(self.config.seed, path, 0);
        let about: Vec<&str> = (0..count).filter_map(|_| programs.choose(&mut rng).copied()).collect();
        let prompts = about
            .iter()
            .map(|program| self.prompts.propose_function(program, wanted));
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
                && inputs.iter().all(|input| {
                    executed
                        .pairs
                        .iter()
                        .any(|(listed, _)| listed == &compact_literal(input))
                })
        })
    }
}
