//! What becomes of candidates, and what they earn.

use minijinja::{Value, context};
use rand::Rng as _;
use std::ops::Range;
use std::sync::Arc;

use super::Axis;
use super::round::Novelty;
use super::step::{Step, Stone};
use crate::archive::{Descriptor, descriptor};
use crate::contract::phase::{CHECK, PROPOSE};
use crate::contract::{ParentRelation, PlanError, ProblemOutcomeRecord, ProblemRecord, Role};
use crate::id::ProblemId;
use crate::kit::code::{Problem, shown, solvable};
use crate::kit::judge::prompt_error;
use crate::kit::{Generation, Progress, Sample, completions, join};
use crate::problem::Values;
use crate::prompt::Rendered;
use crate::reward::Solved;
use crate::seed::stream;
use crate::verify::{ProblemKind, Proposal, Status, Task, Verdict};
use crate::work::Completion;

/// What becomes of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Malformed, unsafe or not deterministic.
    Invalid,
    /// Too similar to another one.
    Duplicate,
    /// Solved too often, or not often enough.
    OutOfBand,
    /// To be accepted, as far as more are wanted.
    InBand,
}

/// A judged candidate, without its texts.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its number in the stage.
    pub(super) number: u32,
    pub(super) axis: Axis,
    pub(super) problem: ProblemId,
    pub(super) sample: Sample,
    /// Its row among the embeddings of its round, if it is valid.
    pub(super) row: Option<u32>,
    /// The highest cosine similarity to another one.
    pub(super) similarity: Option<f32>,
    /// Its mean dissimilarity to the global buffer of its kind.
    pub(super) dissimilarity: Option<f64>,
    /// How often it was solved, if it was attempted.
    pub(super) solved: Option<Solved>,
    pub(super) fate: Fate,
    pub(super) reward: f32,
}

impl Step<'_> {
    /// The judged candidates of a round; writes their outcomes. `solved` has those that were attempted.
    pub(super) fn judge(
        &mut self,
        stone: Stone,
        asks: &[Ask],
        checked: &[Checked],
        novelties: &[Option<Novelty>],
        solved: &[Solved],
    ) -> Vec<Candidate> {
        let run = self.draft.run.run;
        let mut solved = solved.iter();
        let mut candidates = Vec::with_capacity(asks.len());
        for ((ask, checked), novelty) in asks.iter().zip(checked).zip(novelties) {
            let attempted = novelty.as_ref().filter(|novelty| !novelty.is_duplicate);
            let solved = attempted.and_then(|_| solved.next().copied());
            let (fate, part, reward) = self.earned(stone, novelty.as_ref(), solved);
            let problem = checked.sample.problem(run);
            self.draft.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem,
                solve_rate: solved.map(Solved::rate),
                attempts: solved.map_or(0, |solved| solved.attempts),
                reward,
                reward_parts: serde_json::json!({ part: reward }),
            });
            candidates.push(Candidate {
                number: ask.number,
                axis: ask.axis,
                problem,
                sample: checked.sample.clone(),
                row: novelty.as_ref().map(|novelty| novelty.row),
                similarity: novelty.as_ref().and_then(|novelty| novelty.nearest).map(|(value, _)| value),
                dissimilarity: novelty.as_ref().and_then(|novelty| novelty.dissimilarity),
                solved,
                fate,
                reward,
            });
        }
        candidates
    }

    /// What becomes of a candidate, and its reward with the name of its only part (Eq. 4 and 5).
    fn earned(&self, stone: Stone, novelty: Option<&Novelty>, solved: Option<Solved>) -> (Fate, &'static str, f32) {
        let flaws = self.parameters.flaws;
        let learnability = self.parameters.learnability(stone);
        match (novelty, solved) {
            (None, _) => (Fate::Invalid, "invalid", flaws.invalid),
            (Some(_), None) => (Fate::Duplicate, "duplicate", flaws.duplicate),
            (Some(_), Some(solved)) if learnability.is_in_band(solved) => {
                let reward = learnability.at(f64::from(solved.solved) / f64::from(solved.attempts));
                (Fate::InBand, "learnability", reward as f32)
            }
            (Some(_), Some(_)) => (Fate::OutOfBand, "out_of_band", flaws.out_of_band),
        }
    }
}

/// One prompt for a candidate.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The candidate's number in the stage, which is also the request's name.
    pub(super) number: u32,
    pub(super) axis: Axis,
    /// The goalpost or the lemma that it is made from.
    pub(super) parent: (ProblemId, ParentRelation),
    pub(super) prompt: Rendered,
}

impl Step<'_> {
    /// The numbers of a round's candidates.
    pub(super) fn numbers(&self, round: u32) -> Range<u32> {
        let size = self.parameters.rounds.candidates;
        round * size..(round + 1) * size
    }

    /// The axis of the lemma with this number.
    pub(super) fn axis(&self, number: u32) -> Axis {
        let run = self.draft.run;
        let axes = &self.parameters.axes;
        let mut random = stream(run.config.seed, &format!("axes/{}", run.step), u64::from(number));
        axes[random.random_range(0..axes.len())]
    }

    /// The prompt of the template `name`, and whether it is within the limit.
    pub(super) fn teacher_prompt(&self, name: &str, variables: Value) -> Result<(Rendered, bool), PlanError> {
        let rendered = self.prompts.render(name, variables).map_err(prompt_error)?;
        let is_short = rendered.text.len() <= self.parameters.max_prompt_bytes as usize;
        Ok((rendered, is_short))
    }

    /// Pairs of input and output as the templates show them.
    pub(super) fn shown_pairs<T: AsRef<str>>(&self, pairs: &[(T, T)]) -> Vec<Value> {
        let spell = |text: &T| self.prompts.spell(text.as_ref());
        let shown = pairs.iter().map(|(input, output)| context! { input => spell(input), output => spell(output) });
        shown.collect()
    }
}

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
                Some(Task { id: ask.number.to_string(), check: proposal.clone().ok()?.into() })
            });
            let judged = read.iter().map(Result::is_ok);
            let verdicts = self.draft.verify_some(&key, judged, || tasks.collect())?;
            let checked = said().zip(read).zip(verdicts).map(|(((ask, index, said), proposal), verdict)| {
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
        let problem = Problem { id: sample.problem(self.draft.run.run), kind: ProblemKind::CodeF, program, values };
        let limit = self.parameters.max_prompt_bytes as usize;
        match self.sizes.needed(&problem) {
            needed if needed > limit => {
                Err(malformed(&format!("it takes up to {needed} bytes to show, above max_prompt_bytes of {limit}")))
            }
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
            proposer: Some(self.draft.members[self.player(Role::Teacher)?].playing(run)),
            source: Some(checked.sample.source.clone()),
            prompt: ask.prompt.text.clone(),
            proposal: checked.text.clone(),
            valid: checked.problem.is_ok() && duplicate.is_none(),
            status,
            reason,
            program,
            values,
            descriptor: checked.descriptor,
            parents: vec![ask.parent],
            ..ProblemRecord::new(checked.sample.problem(run), first + ask.number, ProblemKind::CodeF)
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
