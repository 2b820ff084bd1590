//! Asks the teacher for candidates, and has them checked.

use std::sync::Arc;

use super::{Axis, ask::Ask, memory::Stone, novelty::Novelty, step::Step};
use crate::{
    archive::{Descriptor, descriptor},
    contract::{
        PlanError, ProblemRecord, Role,
        phase::{CHECK, PROPOSE},
    },
    kit::{
        Generation, Progress, Sample,
        code::{Problem, shown, solvable},
        completions, join,
    },
    problem::Values,
    verify::{ProblemKind, Proposal, Status, Task, Verdict},
    work::Completion,
};

/// A candidate after its check.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) sample: Sample,
    /// The completion.
    text: String,
    /// The proposal, if it could be read.
    proposal: Option<Proposal>,
    /// The problem, or why it is invalid.
    pub(super) problem: Result<Problem, (Status, String)>,
    descriptor: Option<Descriptor>,
}

impl Step<'_> {
    /// The candidates of a round, one for each ask, in order.
    pub(super) fn propose_and_check(&mut self, round: u32, asks: &[Ask]) -> Progress<Vec<Checked>> {
        let chunks = (0..).zip(asks.chunks(self.parameters.items.propose as usize));
        let checked = join(chunks, |(chunk, asks)| self.check(round, chunk, asks))?;
        Ok(checked.iter().flat_map(|chunk| chunk.iter().cloned()).collect())
    }

    fn check(&mut self, round: u32, chunk: u32, asks: &[Ask]) -> Progress<Arc<Vec<Checked>>> {
        let [source, key] = [PROPOSE, CHECK].map(|phase| self.draft.key(phase, chunk).round(round));
        let teacher = self.player(Role::Teacher)?;
        let sampling = &self.parameters.sampling.propose;
        let proposed = self.draft.generate(&source, [asks.len(), 1], || {
            let requests = asks.iter().map(|ask| (ask.number, teacher, ask.prompt.prompt.clone()));
            Ok(Generation {
                sampling: sampling.clone(),
                samples: 1,
                keep_tokens: true,
                draws: None,
                requests: requests.collect(),
            })
        })?;
        let view = self.draft.view;
        view.once(&format!("checked/{key}"), || {
            let said = || completions(asks, proposed);
            let read: Vec<Result<Proposal, String>> = said().map(|(_, _, said)| self.read(said)).collect();
            let tasks = asks.iter().zip(&read).filter_map(|(ask, proposal)| {
                Some(Task {
                    id: ask.number.to_string(),
                    check: proposal.clone().ok()?.into(),
                })
            });
            let tasks: Vec<Task> = tasks.collect();
            let mut verdicts = self.draft.verify(&key, tasks.len(), || tasks)?.iter();
            let checked = said().zip(read).map(|((ask, index, said), proposal)| {
                let verdict = proposal.as_ref().ok().and_then(|_| verdicts.next());
                let sample = Sample::of(&source, ask.number, index, said);
                Checked {
                    problem: self.problem(&sample, &proposal, verdict),
                    descriptor: verdict.and_then(|verdict| verdict.complexity.as_ref()).map(descriptor),
                    proposal: proposal.ok(),
                    text: said.text.clone(),
                    sample,
                }
            });
            Ok(checked.collect())
        })
    }

    fn read(&self, said: &Completion) -> Result<Proposal, String> {
        let (grammar, opening) = (self.prompts.grammar, self.prompts.opening());
        grammar.posed_function(&said.text, said.finish_reason, opening, self.parameters.pairs as usize)
    }

    /// The problem of a proposal: induction from the shown pairs.
    fn problem(
        &self,
        sample: &Sample,
        proposal: &Result<Proposal, String>,
        verdict: Option<&Verdict>,
    ) -> Result<Problem, (Status, String)> {
        let malformed = |reason: &str| (Status::Malformed, reason.to_owned());
        let proposal = proposal.as_ref().map_err(|reason| malformed(reason))?;
        let verdict = verdict.ok_or_else(|| malformed("it was not judged"))?;
        let (program, mut values) = solvable(proposal, verdict)?;
        if let Values::Function { shown, .. } = &mut values {
            *shown = self.parameters.shown as usize;
        }
        let problem = Problem {
            id: sample.problem(self.draft.run.run),
            kind: ProblemKind::CodeF,
            program,
            values,
        };
        let limit = self.parameters.max_prompt_bytes as usize;
        match self.sizes.needed(&problem) {
            needed if needed > limit => Err(malformed(&format!(
                "it takes up to {needed} bytes to show, above max_prompt_bytes of {limit}"
            ))),
            _ => Ok(problem),
        }
    }

    /// Writes the rows of a round's candidates, before anybody attempts them. Those that are too similar to others are
    /// not valid.
    pub(super) fn write_problems(
        &mut self,
        stone: Stone,
        round: u32,
        asks: &[Ask],
        checked: &[Checked],
        novelties: &[Option<Novelty>],
    ) -> Progress<()> {
        let view = self.draft.view;
        view.once(&format!("written/{round}"), || -> Progress<()> {
            for ((ask, checked), novelty) in asks.iter().zip(checked).zip(novelties) {
                let record = self.record(stone, ask, checked, novelty.as_ref())?;
                self.draft.plan.records.problems.push(record);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn record(
        &self,
        stone: Stone,
        ask: &Ask,
        checked: &Checked,
        novelty: Option<&Novelty>,
    ) -> Result<ProblemRecord, PlanError> {
        let run = self.draft.run.run;
        let (program, mut values) = match &checked.proposal {
            Some(proposal) => {
                let (program, values) = shown(checked.problem.as_ref().ok(), proposal)?;
                (Some(program), values)
            }
            None => (None, serde_json::json!({})),
        };
        note(&mut values, ask.axis, novelty)?;
        let duplicate = novelty.filter(|novelty| novelty.is_duplicate);
        let (status, reason) = match (&checked.problem, duplicate) {
            (Err((status, reason)), _) => (*status, reason.clone()),
            (Ok(_), Some(novelty)) => (Status::Ok, novelty.reason(self.parameters.novelty.threshold)),
            (Ok(_), None) => (Status::Ok, String::new()),
        };
        // Goalposts, which may be entered in any step, have the indices before lemmas.
        let first = match stone {
            Stone::Lemma => self.parameters.goalposts.settled()?.1,
            Stone::Lift => 0,
        };
        Ok(ProblemRecord {
            id: checked.sample.problem(run),
            index: first + ask.number,
            proposer: Some(self.draft.members[self.player(Role::Teacher)?].playing(run)),
            source: Some(checked.sample.source.clone()),
            kind: ProblemKind::CodeF,
            prompt: ask.prompt.text.clone(),
            proposal: checked.text.clone(),
            valid: checked.problem.is_ok() && duplicate.is_none(),
            status,
            reason,
            program,
            values,
            descriptor: checked.descriptor,
            cell: None,
            parents: vec![ask.parent],
        })
    }
}

/// Adds to a problem's values its axis, and how similar it is to which other one.
fn note(values: &mut serde_json::Value, axis: Axis, novelty: Option<&Novelty>) -> Result<(), PlanError> {
    if let Some(values) = values.as_object_mut() {
        values.insert("axis".to_owned(), serde_json::to_value(axis)?);
        if let Some((similarity, nearest)) = novelty.and_then(|novelty| novelty.nearest) {
            values.insert("similarity".to_owned(), serde_json::to_value(similarity)?);
            values.insert("nearest".to_owned(), serde_json::to_value(nearest)?);
        }
    }
    Ok(())
}
