//! Turns proposers' completions into valid problems.

use std::sync::Arc;

use super::scene::Material;
use super::{Ask, Judged, Problem, Scene};
use crate::archive::{Descriptor, descriptor};
use crate::contract::phase::{CHECK, PROPOSE};
use crate::contract::{ParentRelation, PlanError, ProblemRecord};
use crate::duplicate::fingerprint;
use crate::id::ProblemId;
use crate::kit::{Progress, Sample, completions};
use crate::problem::Values;
use crate::verify::{ProblemKind, Proposal, Status, Task, Verdict};
use crate::work::{Completion, RolloutResult};

/// Why a copy is refused.
const COPY: &str = "its program is one that the prompt shows, but for names, constants and layout";

/// A parsed proposal, or why it cannot be parsed.
pub(super) type Parsed = Result<Proposal, String>;

/// A proposal after its check: the problem, if it is valid, and its position in the archive.
pub(super) struct Admitted {
    pub(super) problem: Option<Problem>,
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) descriptor: Option<Descriptor>,
    pub(super) cell: Option<u32>,
}

impl Scene<'_> {
    /// The verifier's verdicts on the proposals of a chunk; writes the problems' rows.
    pub(crate) fn check(
        &mut self,
        chunk: u32,
        asks: &[Ask],
        samples: u32,
        proposed: &RolloutResult,
    ) -> Progress<Arc<Vec<Judged>>> {
        let source = self.draft.key(PROPOSE, chunk);
        let key = self.draft.key(CHECK, chunk);
        let view = self.draft.view;
        let material = &self.material;
        let parsed = view.once(&format!("parsed/{key}"), || -> Progress<Vec<Parsed>> {
            let read = completions(asks, proposed);
            let parsed = read.map(|(ask, _, completion)| {
                let parsed = material.parse(ask, completion)?;
                if material.is_copy(ask, &parsed) { Err(COPY.to_owned()) } else { Ok(parsed) }
            });
            Ok(parsed.collect())
        })?;
        view.once(&format!("checked/{key}"), || {
            let number = |ask: &Ask, sample: u32| ask.index * samples + sample;
            let verdicts = self.draft.verify_some(&key, parsed.iter().map(Result::is_ok), || {
                let read = completions(asks, proposed).zip(parsed.iter());
                let task = |((ask, sample, _), parsed): ((&Ask, u32, _), &Parsed)| {
                    let check = parsed.clone().ok()?.into();
                    let id = number(ask, sample).to_string();
                    Some(Task { id, check })
                };
                read.filter_map(task).collect()
            })?;
            let mut judged = Vec::with_capacity(parsed.len());
            let read = completions(asks, proposed).zip(parsed.iter());
            for (((ask, sample, completion), parsed), verdict) in read.zip(verdicts) {
                let index = number(ask, sample);
                let sample = Sample::of(&source, ask.index, sample, completion);
                let id = sample.problem(self.draft.run.run);
                let admitted = self.material.admit(id, ask.kind, parsed, verdict);
                self.write_problem(id, index, ask, completion, parsed, &admitted, chunk)?;
                judged.push(Judged {
                    index,
                    id,
                    kind: ask.kind,
                    proposer: ask.proposer,
                    solver: ask.solver,
                    is_copy: matches!(parsed, Err(reason) if reason == COPY),
                    sample,
                    fingerprint: admitted
                        .problem
                        .as_ref()
                        .filter(|_| ask.kind != ProblemKind::CodeF)
                        .map(|problem| fingerprint(&problem.program)),
                    problem: admitted.problem,
                    descriptor: admitted.descriptor,
                    cell: admitted.cell,
                    attempts: Vec::new(),
                });
            }
            Ok(judged)
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a row has many columns")]
    fn write_problem(
        &mut self,
        id: ProblemId,
        index: u32,
        ask: &Ask,
        completion: &Completion,
        parsed: &Parsed,
        admitted: &Admitted,
        chunk: u32,
    ) -> Result<(), PlanError> {
        let (program, values) = match parsed {
            Ok(proposal) => {
                let (program, values) = shown(admitted.problem.as_ref(), proposal)?;
                (Some(program), values)
            }
            Err(_) => (None, serde_json::json!({})),
        };
        let proposer = self.draft.members.get(ask.proposer);
        let record = ProblemRecord {
            id,
            index,
            proposer: proposer.map(|member| member.playing(self.draft.run.run)),
            source: Some(self.draft.key(PROPOSE, chunk)),
            kind: ask.kind,
            prompt: self.material.rendered(ask)?.text,
            proposal: completion.text.clone(),
            valid: admitted.problem.is_some(),
            status: admitted.status,
            reason: admitted.reason.clone(),
            program,
            values,
            descriptor: admitted.descriptor,
            cell: admitted.cell,
            parents: ask.shown.iter().map(|parent| (*parent, ParentRelation::Reference)).collect(),
        };
        self.draft.plan.records.problems.push(record);
        Ok(())
    }
}

/// The program and values for a row: those of the problem, or those proposed if it is invalid.
pub(crate) fn shown(
    problem: Option<&Problem>,
    proposal: &Proposal,
) -> Result<(String, serde_json::Value), serde_json::Error> {
    let (Proposal::Io { program, .. } | Proposal::Function { program, .. }) = proposal;
    let values = match (problem, proposal) {
        (Some(problem), _) => serde_json::to_value(&problem.values)?,
        (None, Proposal::Io { input, .. }) => serde_json::json!({ "input": input }),
        (None, Proposal::Function { inputs, message, .. }) => {
            serde_json::json!({ "inputs": inputs, "message": message })
        }
    };
    Ok((program.clone(), values))
}

impl Material<'_> {
    fn parse(&self, ask: &Ask, completion: &Completion) -> Parsed {
        let prompts = &self.setting.prompts;
        let num_inputs = self.groups.problems.num_inputs as usize;
        let (text, finish) = (&completion.text, completion.finish_reason);
        let read = prompts.grammar.proposal(ask.kind, text, finish, prompts.opening(), num_inputs)?;
        let about = ask.shown.first().and_then(|id| self.earlier(*id));
        read.proposal(ask.kind, about.map(|about| about.program))
    }

    /// Whether copies are refused, and the program of a proposal is one that its prompt shows.
    fn is_copy(&self, ask: &Ask, proposal: &Proposal) -> bool {
        let Proposal::Io { program, .. } = proposal else { return false };
        if !self.groups.problems.refuse_copies {
            return false;
        }
        let own = fingerprint(program);
        let shown = ask.shown.iter().filter_map(|id| self.earlier(*id));
        self.setting.examples.contains(&own) || shown.into_iter().any(|shown| fingerprint(&shown.program) == own)
    }

    /// The problem, if it is valid, with its status and a message.
    pub(super) fn admit(
        &self,
        id: ProblemId,
        kind: ProblemKind,
        parsed: &Parsed,
        verdict: Option<&Verdict>,
    ) -> Admitted {
        let (problem, status, reason) = self.judge(id, kind, parsed, verdict);
        let descriptor = verdict.and_then(|verdict| verdict.complexity.as_ref()).map(descriptor);
        let place = descriptor.filter(|_| problem.is_some());
        let cell = place.map(|place| self.setting.centroids.nearest(self.groups.archive.normalised(place)));
        Admitted { problem, status, reason, descriptor, cell }
    }

    fn judge(
        &self,
        id: ProblemId,
        kind: ProblemKind,
        parsed: &Parsed,
        verdict: Option<&Verdict>,
    ) -> (Option<Problem>, Status, String) {
        let (proposal, verdict) = match (parsed, verdict) {
            (Ok(proposal), Some(verdict)) => (proposal, verdict),
            (Err(reason), _) => return (None, Status::Malformed, reason.clone()),
            (Ok(_), None) => return (None, Status::Malformed, "it was not judged".to_owned()),
        };
        let (program, values) = match solvable(proposal, verdict) {
            Ok(solvable) => solvable,
            Err((status, reason)) => return (None, status, reason),
        };
        let problem = Problem { id, kind, program, values };
        match self.setting.overhead.check(&problem, self.groups.problems.max_prompt_bytes) {
            Ok(()) => (Some(problem), verdict.status, verdict.reason.clone()),
            Err(reason) => (None, Status::Malformed, reason),
        }
    }
}

/// The program and values of a valid proposal; of an invalid one its status, and why.
pub(crate) fn solvable(proposal: &Proposal, verdict: &Verdict) -> Result<(String, Values), (Status, String)> {
    if verdict.valid != Some(true) {
        return Err((verdict.status, verdict.reason.clone()));
    }
    match (proposal, &verdict.output, &verdict.outputs) {
        (Proposal::Io { program, input, .. }, Some(output), _) => {
            let (input, output) = (Some(input.clone()), Some(output.clone()));
            Ok((program.clone(), Values::Io { input, output }))
        }
        (Proposal::Function { program, inputs, message }, _, Some(outputs)) if outputs.len() == inputs.len() => {
            let values = Values::function(inputs.clone(), outputs.clone(), message.clone());
            Ok((program.clone(), values))
        }
        _ => Err((Status::Error, "its output is not known".to_owned())),
    }
}
