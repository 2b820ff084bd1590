//! Evaluation of the stepping stones that a base writes about held-out programs (GASP).

use std::collections::BTreeMap;

use lyceum_core::prompt::Rendered;
use lyceum_core::seed;
use lyceum_core::verify::Proposal;
use lyceum_core::work::Prompt;
use lyceum_curriculum::sample::{StoneSpec, StoneTask};
use lyceum_verifier::{Check, ProblemKind};
use rand::seq::IndexedRandom as _;

use super::{Evaluator, Text};
use crate::command::pretrain::figures::{Stones, share};
use crate::command::pretrain::problem::Problem;

/// Attempts at each stone, as in the paper.
const TRIALS: usize = 10;

impl Evaluator<'_> {
    /// By task: stones from held-out programs, each attempted ten times. Lemmas are made from programs of levels 3 to 5,
    /// as goalposts are, and lifts from those of levels 1 to 3, as lemmas are.
    pub(super) fn stones(&self) -> anyhow::Result<BTreeMap<String, Stones>> {
        let Some(spec) = self.config.samples.stones else {
            return Ok(BTreeMap::new());
        };
        let tasks = StoneTask::ALL.into_iter();
        tasks
            .map(|task| Ok((task.name().to_owned(), self.stones_of(task, &spec)?)))
            .collect()
    }

    fn stones_of(&self, task: StoneTask, spec: &StoneSpec) -> anyhow::Result<Stones> {
        let count = self.config.evaluation.stones;
        let levels = if task.is_lemma() { 3..=5 } else { 1..=3 };
        let held_out = self.corpus.held_out.iter();
        let given: Vec<_> = held_out
            .filter(|program| levels.contains(&program.level.number()))
            .collect();
        let path = format!("evaluation/propose/{task}");
        let prompts = (0..count).filter_map(|item| {
            let program = given.choose(&mut seed::stream(self.config.seed, &path, item as u64))?;
            let text = task.prompt(&program.source, program.pairs.iter().take(spec.shown));
            Some(Rendered {
                prompt: Prompt::Text(text.clone()),
                text,
            })
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
            let (
                Ok(Proposal::Function {
                    program,
                    inputs,
                    message,
                }),
                Ok(verdict),
            ) = (read, verdict)
            else {
                continue;
            };
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
        let right: Vec<usize> = solved
            .iter()
            .map(|answers| answers.iter().filter(|(right, _)| *right).count())
            .collect();
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
