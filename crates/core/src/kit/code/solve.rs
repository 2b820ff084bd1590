//! Attempts at problems: samples, reads, grades and rewards them.

use std::sync::Arc;

use super::scene::prompt_error;
use super::warm_up::form_reward;
use super::{Judged, Problem, Scene};
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{AttemptRecord, Phase, ProblemOutcomeRecord, Role, WARM_UP};
use crate::kit::{Draft, Generation, Progress, Sample, completions};
use crate::prompt::{FoundAnswer, PromptSet, ReadingRule};
use crate::reward::{Solved, student_reward};
use crate::verify::{ProblemKind, Status, Task, Verdict};
use crate::work::{Completion, RolloutResult, Sampling};

/// The problems attempted in one item, and how.
#[derive(Clone, Debug)]
pub(crate) struct AttemptBatch<'p> {
    /// The phases that sample solutions and grade them.
    pub(crate) phases: [Phase; 2],
    /// The round of both phases.
    pub(crate) round: u32,
    /// The chunk of both phases.
    pub(crate) chunk: u32,
    /// Solutions per problem.
    pub(crate) samples: u32,
    /// The role of the solvers.
    pub(crate) role: Role,
    /// Whether an update will learn from them.
    pub(crate) keep_tokens: bool,
    pub(crate) assignments: Vec<Assignment<'p>>,
}

/// How problems are put to solvers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SolveProtocol<'p> {
    pub(crate) prompts: &'p PromptSet,
    /// The prompts' grammar adds stops of its own.
    pub(crate) sampling: &'p Sampling,
}

/// One problem given to one member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assignment<'p> {
    /// The request's name.
    pub(crate) number: u32,
    pub(crate) problem: &'p Problem,
    /// The solver: a position among the members.
    pub(crate) solver: usize,
}

/// Proposals whose valid problems are attempted in one item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'p> {
    /// The chunk of the item.
    pub(crate) chunk: u32,
    pub(crate) judged: &'p [Judged],
}

impl<'p> Part<'p> {
    /// Gives every valid problem to the member it was proposed for.
    pub(crate) fn batch(self, samples: u32, role: Role, keep_tokens: bool) -> AttemptBatch<'p> {
        let assignment = |judged: &'p Judged| {
            judged.problem.as_ref().map(|problem| Assignment { number: judged.index, problem, solver: judged.solver })
        };
        AttemptBatch {
            phases: [SOLVE, GRADE],
            round: 0,
            chunk: self.chunk,
            samples,
            role,
            keep_tokens,
            assignments: self.judged.iter().filter_map(assignment).collect(),
        }
    }
}

impl<'a> Scene<'a> {
    /// The parts of a chunk of proposals, with `samples` per prompt.
    pub(crate) fn parts<'p>(&self, chunk: u32, judged: &'p [Judged], samples: u32) -> Vec<Part<'p>> {
        let items = self.material.groups.items;
        let parts = items.propose.div_ceil(items.solve.max(1)).max(1);
        let size = (items.solve * samples).max(1) as usize;
        let part = |(part, judged)| Part { chunk: chunk * parts + part, judged };
        (0..).zip(judged.chunks(size)).map(part).collect()
    }

    /// The solutions of a batch; `None` if it attempts nothing.
    pub(crate) fn solve(&mut self, batch: &AttemptBatch<'_>) -> Progress<Option<&'a RolloutResult>> {
        let protocol =
            SolveProtocol { prompts: &self.material.setting.prompts, sampling: &self.material.groups.sampling.solve };
        self.draft.solve(protocol, batch)
    }

    /// The graded attempts of a batch by assignment; writes their rows.
    pub(crate) fn grade(
        &mut self,
        batch: &AttemptBatch<'_>,
        solved: Option<&RolloutResult>,
    ) -> Progress<Arc<Vec<Vec<Attempt>>>> {
        self.draft.grade(&self.material.setting.prompts, batch, solved)
    }

    /// The proposals of a part with their attempts and their value by `reward`, which gets `None` for an invalid
    /// proposal; writes the problems' outcomes.
    pub(crate) fn reward(
        &mut self,
        part: Part<'_>,
        graded: &[Vec<Attempt>],
        reward: fn(Option<Solved>) -> f32,
    ) -> Progress<Arc<Vec<(Judged, f32)>>> {
        let view = self.draft.view;
        view.once(&format!("rewarded/{}", part.chunk), || Ok(self.rewarded(part.judged, graded, reward)))
    }

    fn rewarded(
        &mut self,
        judged: &[Judged],
        graded: &[Vec<Attempt>],
        reward: fn(Option<Solved>) -> f32,
    ) -> Vec<(Judged, f32)> {
        let mut graded = graded.iter();
        let mut rewarded = Vec::with_capacity(judged.len());
        for judged in judged {
            let mut judged = judged.clone();
            if judged.problem.is_some() {
                judged.attempts = graded.next().cloned().unwrap_or_default();
            }
            let solved = judged.solved();
            let (part, reward) = match solved {
                _ if self.draft.run.stage == WARM_UP => ("form", form_reward(solved.is_some())),
                Some(_) => ("difficulty", reward(solved)),
                None => ("validity", reward(None)),
            };
            self.draft.plan.records.outcomes.push(ProblemOutcomeRecord {
                problem: judged.id,
                solve_rate: solved.filter(|solved| solved.attempts > 0).map(|solved| solved.rate()),
                attempts: judged.attempts.len() as u32,
                reward,
                reward_parts: serde_json::json!({ part: reward }),
            });
            rewarded.push((judged, reward));
        }
        rewarded
    }
}

impl<'a> Draft<'a> {
    /// The solutions of a batch; `None` if it attempts nothing.
    pub(crate) fn solve(
        &mut self,
        protocol: SolveProtocol<'_>,
        batch: &AttemptBatch<'_>,
    ) -> Progress<Option<&'a RolloutResult>> {
        if batch.assignments.is_empty() {
            return Ok(None);
        }
        let SolveProtocol { prompts, sampling } = protocol;
        let key = self.key(batch.phases[0], batch.chunk).round(batch.round);
        let solved = self.generate(&key, [batch.assignments.len(), batch.samples as usize], || {
            let mut requests = Vec::with_capacity(batch.assignments.len());
            for assignment in &batch.assignments {
                let prompt = assignment.problem.prompt(prompts).map_err(prompt_error)?.prompt;
                requests.push((assignment.number, assignment.solver, prompt));
            }
            let mut sampling = sampling.clone();
            sampling.stop.extend(prompts.grammar.solver_stops());
            Ok(Generation { sampling, samples: batch.samples, keep_tokens: batch.keep_tokens, draws: None, requests })
        })?;
        Ok(Some(solved))
    }

    /// The graded attempts of a batch by assignment; writes their rows.
    pub(crate) fn grade(
        &mut self,
        prompts: &PromptSet,
        batch: &AttemptBatch<'_>,
        solved: Option<&RolloutResult>,
    ) -> Progress<Arc<Vec<Vec<Attempt>>>> {
        let Some(solved) = solved else { return Ok(Arc::default()) };
        let [source, key] = batch.phases.map(|phase| self.key(phase, batch.chunk).round(batch.round));
        let view = self.view;
        let answers = view.once(&format!("answers/{key}"), || -> Progress<Vec<Answer>> {
            let answers = completions(&batch.assignments, solved);
            let answers = answers.map(|(assignment, _, completion)| {
                prompts.answer(&assignment.problem.statement(), &completion.text, completion.finish_reason)
            });
            Ok(answers.collect())
        })?;
        view.once(&format!("graded/{key}"), || {
            let verdicts = self.verify_some(&key, answers.iter().map(Result::is_ok), || {
                let read = completions(&batch.assignments, solved).zip(answers.iter());
                let task = |((assignment, sample, _), answer): ((&Assignment<'_>, u32, _), &Answer)| -> Option<Task> {
                    let id = format!("{}/{sample}", assignment.number);
                    Some(assignment.problem.task(id, answer.as_ref().ok()?.text.clone()))
                };
                read.filter_map(task).collect()
            })?;
            let mut graded: Vec<Attempt> = Vec::with_capacity(answers.len());
            let read = completions(&batch.assignments, solved).zip(answers.iter());
            for (((assignment, sample, completion), answer), verdict) in read.zip(verdicts) {
                let (well_formed, correct) = marks(prompts, verdict);
                let mut attempt = Attempt {
                    sample: Sample::of(&source, assignment.number, sample, completion),
                    kind: assignment.problem.kind,
                    solver: assignment.solver,
                    well_formed,
                    reading: answer.as_ref().ok().map(|found| found.rule).filter(|_| prompts.is_flexible()),
                    correct,
                    reward: student_reward(well_formed, correct),
                };
                if self.run.stage == WARM_UP {
                    attempt.reward = form_reward(attempt.is_in_form());
                }
                self.write_attempt(batch.role, assignment, &attempt, completion, answer, verdict);
                graded.push(attempt);
            }
            let mut graded = graded.into_iter();
            let samples = batch.samples as usize;
            Ok(batch.assignments.iter().map(|_| graded.by_ref().take(samples).collect()).collect())
        })
    }

    fn write_attempt(
        &mut self,
        role: Role,
        assignment: &Assignment<'_>,
        attempt: &Attempt,
        completion: &Completion,
        answer: &Answer,
        verdict: Option<&Verdict>,
    ) {
        let Some(member) = self.members.get(assignment.solver) else { return };
        let reason = match answer {
            Ok(_) => verdict.map(|verdict| verdict.reason.clone()).unwrap_or_default(),
            Err(reason) => reason.clone(),
        };
        let record = AttemptRecord {
            id: attempt.sample.attempt(self.run.run),
            problem: assignment.problem.id,
            solver: member.playing(self.run.run),
            role,
            sample: attempt.sample.index,
            text: completion.text.clone(),
            answer: answer.as_ref().ok().map(|found| found.text.clone()),
            reading: attempt.reading,
            well_formed: attempt.well_formed,
            status: verdict.map_or(Status::Malformed, |verdict| verdict.status),
            reason,
            correct: attempt.correct,
            reward: attempt.reward,
            reward_parts: match self.run.stage == WARM_UP {
                true => serde_json::json!({ "form": attempt.reward }),
                false => serde_json::json!({
                    "format": if attempt.well_formed { 0.0 } else { -1.0 },
                    "correct": match (attempt.well_formed, attempt.correct) {
                        (true, true) => 1.0,
                        (true, false) => -0.5,
                        (false, _) => 0.0,
                    },
                }),
            },
            tokens: attempt.sample.tokens,
        };
        self.plan.records.attempts.push(record);
    }
}

/// An answer that was found in a completion, or why there is none.
type Answer = Result<FoundAnswer, String>;

/// Whether an answer is well-formed and whether it is correct, given its verdict; there is no verdict if it had no form
/// to judge.
fn marks(prompts: &PromptSet, verdict: Option<&Verdict>) -> (bool, bool) {
    let well_formed = verdict.is_some_and(|verdict| !prompts.grammar.is_unreadable(verdict.status));
    let correct = well_formed && verdict.is_some_and(|verdict| verdict.correct == Some(true));
    (well_formed, correct)
}

/// A graded attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) sample: Sample,
    /// The type of its problem.
    pub(crate) kind: ProblemKind,
    /// The solver: a position among the members.
    pub(crate) solver: usize,
    /// Whether it has the required form.
    pub(crate) well_formed: bool,
    /// The rule that found it, if the run reads answers by several.
    pub(crate) reading: Option<ReadingRule>,
    /// Whether it is well-formed and solves the problem.
    pub(crate) correct: bool,
    pub(crate) reward: f32,
}

impl Attempt {
    /// Whether it has the form that the prompt asks for, and not only one that another rule could read.
    pub(super) fn is_in_form(&self) -> bool {
        self.well_formed && self.reading.is_none_or(|rule| rule == ReadingRule::Form)
    }
}
