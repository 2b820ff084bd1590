//! From what proposers wrote to valid problems.

use super::{Ask, Judged, Problem, Scene, problem::Values};
use crate::{
    archive::descriptor,
    duplicate::fingerprint,
    id::{ProblemId, WorkId},
    prompt::ProposalText,
    recipe::{ParentRelation, PlanError, ProblemOutcomeRecord, ProblemRecord},
    verify::{ProblemKind, Proposal, Status, Task, Verdict},
    work::{Completion, Payload, RolloutResult, VerifyPayload, WorkKey},
};

/// A proposal taken apart, or why it cannot be.
pub(super) type Parsed = Result<(Proposal, Option<ProblemId>), String>;

/// The program and the values of a row: those of the problem, or what was proposed where that is none.
pub(super) fn shown(
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

impl Scene<'_> {
    /// What the verifier says of the proposals of a chunk, once it has; asks for it, and writes the problems' rows.
    pub(crate) fn check(
        &mut self,
        chunk: u32,
        asks: &[Ask],
        samples: u32,
        proposed: &RolloutResult,
    ) -> Result<Option<Vec<Judged>>, PlanError> {
        let source = self.key("propose", chunk);
        let key = self.key("check", chunk);
        let mut read: Vec<(&Ask, u32, &Completion, Parsed)> = Vec::with_capacity(asks.len());
        for (ask, generated) in asks.iter().zip(&proposed.generated) {
            for (sample, completion) in (0..).zip(&generated.completions) {
                read.push((ask, sample, completion, self.parse(ask, completion)));
            }
        }
        let verdicts = match read.iter().any(|(.., parsed)| parsed.is_ok()) {
            false => &[][..],
            true => {
                if !self.asked(&key) {
                    let well_formed = read.iter().filter_map(|(ask, sample, _, parsed)| {
                        let (proposal, _) = parsed.as_ref().ok()?;
                        Some(Task {
                            id: (ask.index * samples + sample).to_string(),
                            check: proposal.clone().into(),
                        })
                    });
                    let tasks = well_formed.collect();
                    self.ask(key.clone(), Payload::Verify(VerifyPayload { tasks }));
                }
                match self.view.verify(&key)? {
                    Some(checked) => &checked.verdicts[..],
                    None => return Ok(None),
                }
            }
        };
        let tasks = read.iter().filter(|(.., parsed)| parsed.is_ok()).count();
        if verdicts.len() != tasks {
            return Err(Self::misfit(
                &key,
                format!("{} verdicts where {tasks} were asked", verdicts.len()),
            ));
        }
        let mut verdicts = verdicts.iter();
        let mut judged = Vec::with_capacity(read.len());
        let is_written = self.settled || self.is_solving(chunk);
        for (ask, sample, completion, parsed) in read {
            let index = ask.index * samples + sample;
            let verdict = parsed.as_ref().ok().and_then(|_| verdicts.next());
            let id = ProblemId::of(WorkId::of(self.run.run, &source), &ask.index.to_string(), sample);
            let (problem, status, reason) = self.admit(id, ask.kind, &parsed, verdict);
            let place = verdict.and_then(|verdict| verdict.complexity.as_ref()).map(descriptor);
            let cell = place
                .filter(|_| problem.is_some())
                .map(|place| self.centroids.nearest(self.groups.archive.normalised(place)));
            let entry = Judged {
                index,
                id,
                kind: ask.kind,
                proposer: ask.proposer,
                solver: ask.solver,
                source: source.clone(),
                request: ask.index,
                sample,
                tokens: completion.tokens,
                entropy: completion.entropy,
                fingerprint: problem.as_ref().map(|problem| fingerprint(&problem.program)),
                problem,
                descriptor: place,
                cell,
                attempts: Vec::new(),
            };
            if !is_written {
                let record = self.problem_record(ask, &entry, completion, &parsed, status, reason)?;
                self.plan.records.problems.push(record);
            }
            judged.push(entry);
        }
        Ok(Some(judged))
    }

    /// Writes how a proposal fared.
    pub(crate) fn record_outcome(&mut self, judged: &Judged, reward: f32, parts: serde_json::Value) {
        if !self.settled {
            self.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem: judged.id,
                solve_rate: judged
                    .solved()
                    .filter(|solved| solved.attempts > 0)
                    .map(|solved| solved.rate()),
                attempts: judged.attempts.len() as u32,
                reward,
                reward_parts: parts,
            });
        }
    }

    fn parse(&self, ask: &Ask, completion: &Completion) -> Parsed {
        let num_inputs = self.groups.problems.num_inputs as usize;
        let read = self.prompts.grammar.proposal(
            ask.kind,
            &completion.text,
            completion.finish_reason,
            self.prompts.opening(),
            num_inputs,
        );
        match read? {
            ProposalText::Io { program, input } => Ok((
                Proposal::Io {
                    problem: ask.kind,
                    program,
                    input,
                },
                None,
            )),
            ProposalText::Function { inputs, message } => {
                let about = ask.shown.first().and_then(|id| self.earlier(*id));
                let about = about.ok_or("the program that it is about is not known")?;
                let proposal = Proposal::Function {
                    program: about.program,
                    inputs,
                    message,
                };
                Ok((proposal, Some(about.id)))
            }
        }
    }

    /// The problem, if it is valid; and what is to be said of it.
    pub(super) fn admit(
        &self,
        id: ProblemId,
        kind: ProblemKind,
        parsed: &Parsed,
        verdict: Option<&Verdict>,
    ) -> (Option<Problem>, Status, String) {
        let (proposal, verdict) = match (parsed, verdict) {
            (Ok((proposal, _)), Some(verdict)) => (proposal, verdict),
            (Err(reason), _) => return (None, Status::Malformed, reason.clone()),
            (Ok(_), None) => return (None, Status::Malformed, "it was not judged".to_owned()),
        };
        if verdict.valid != Some(true) {
            return (None, verdict.status, verdict.reason.clone());
        }
        let (program, values) = match (proposal, &verdict.output, &verdict.outputs) {
            (Proposal::Io { program, input, .. }, Some(output), _) => {
                let (input, output) = (input.clone(), output.clone());
                (program.clone(), Values::Io { input, output })
            }
            (
                Proposal::Function {
                    program,
                    inputs,
                    message,
                },
                _,
                Some(outputs),
            ) if outputs.len() == inputs.len() => {
                let values = Values::function(inputs.clone(), outputs.clone(), message.clone());
                (program.clone(), values)
            }
            _ => return (None, Status::Error, "its output is not known".to_owned()),
        };
        let problem = Problem {
            id,
            kind,
            program,
            values,
        };
        match self.overhead.check(&problem, self.groups.problems.max_prompt_bytes) {
            Ok(()) => (Some(problem), verdict.status, verdict.reason.clone()),
            Err(reason) => (None, Status::Malformed, reason),
        }
    }

    fn problem_record(
        &self,
        ask: &Ask,
        judged: &Judged,
        completion: &Completion,
        parsed: &Parsed,
        status: Status,
        reason: String,
    ) -> Result<ProblemRecord, PlanError> {
        let (program, values) = match parsed {
            Ok((proposal, _)) => {
                let (program, values) = shown(judged.problem.as_ref(), proposal)?;
                (Some(program), values)
            }
            Err(_) => (None, serde_json::json!({})),
        };
        let relation = ParentRelation::Reference;
        Ok(ProblemRecord {
            id: judged.id,
            index: judged.index,
            proposer: self
                .members
                .get(ask.proposer)
                .map(|member| member.playing(self.run.run)),
            source: Some(judged.source.clone()),
            kind: ask.kind,
            prompt: self.rendered(ask)?.text,
            proposal: completion.text.clone(),
            valid: judged.problem.is_some(),
            status,
            reason,
            program,
            values,
            descriptor: judged.descriptor,
            cell: judged.cell,
            parents: ask.shown.iter().map(|parent| (*parent, relation)).collect(),
        })
    }

    /// Whether solutions of a chunk's problems were asked for: with that, its problems were written.
    fn is_solving(&self, chunk: u32) -> bool {
        let parts = self.parts();
        (0..parts).any(|part| self.asked(&WorkKey::new(self.run.step, "solve").chunk(chunk * parts + part)))
    }

    /// Solve items that a propose item is cut into.
    pub(crate) fn parts(&self) -> u32 {
        self.groups
            .items
            .propose
            .div_ceil(self.groups.items.solve.max(1))
            .max(1)
    }
}
