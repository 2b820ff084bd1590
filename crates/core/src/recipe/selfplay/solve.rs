//! Attempts at problems: drawn, read, and graded.

use super::{
    Attempt, Problem, Scene,
    propose::{Adapters, check_shape},
};
use crate::{
    id::{AttemptId, WorkId},
    prompt::Answer,
    recipe::{AttemptRecord, PlanError, Role},
    reward::student_reward,
    verify::{Status, Task, Verdict},
    work::{Completion, Payload, RolloutRequest, VerifyPayload},
};

/// What is attempted in one item, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exam<'n> {
    /// The phase that draws solutions.
    pub(crate) solve: &'n str,
    /// The phase that grades them.
    pub(crate) grade: &'n str,
    /// The chunk of both.
    pub(crate) chunk: u32,
    /// Solutions a problem.
    pub(crate) samples: u32,
    /// What solvers play.
    pub(crate) role: Role,
    /// Whether an update will learn from them.
    pub(crate) keep_tokens: bool,
    /// Whether its rows were written before.
    pub(crate) is_written: bool,
}

/// One problem in front of one member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sitting<'p> {
    /// The request's name.
    pub(crate) number: u32,
    pub(crate) problem: &'p Problem,
    /// Who attempts it: a place among the members.
    pub(crate) solver: usize,
}

impl Scene<'_> {
    /// The graded attempts of an exam by sitting, once they are there; asks for solutions and verdicts, and writes the rows.
    pub(crate) fn examine(
        &mut self,
        exam: Exam<'_>,
        sittings: &[Sitting<'_>],
    ) -> Result<Option<Vec<Vec<Attempt>>>, PlanError> {
        if sittings.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let (source, key) = (self.key(exam.solve, exam.chunk), self.key(exam.grade, exam.chunk));
        if !self.asked(&source) {
            let mut adapters = Adapters::default();
            let mut requests = Vec::with_capacity(sittings.len());
            for sitting in sittings {
                requests.push(RolloutRequest {
                    id: sitting.number.to_string(),
                    prompt: sitting
                        .problem
                        .prompt(&self.prompts)
                        .map_err(Self::prompt_error)?
                        .prompt,
                    adapter: adapters.place(self, sitting.solver),
                    n: exam.samples,
                    seed: self.seed(&source, sitting.number),
                    max_tokens: None,
                });
            }
            let mut sampling = self.groups.sampling.solve.clone();
            sampling.stop.extend(self.prompts.grammar.solver_stops());
            self.generate(source.clone(), adapters, sampling, requests, exam.keep_tokens);
        }
        let Some(solved) = self.view.rollout(&source)? else {
            return Ok(None);
        };
        check_shape(&source, solved, sittings.len(), exam.samples)?;
        let read = |sitting: &Sitting<'_>, completion: &Completion| {
            let opening = self.prompts.opening();
            let (text, finish) = (&completion.text, completion.finish_reason);
            self.prompts.grammar.answer(sitting.problem.kind, text, finish, opening)
        };
        let answers: Vec<Vec<Answer>> = sittings
            .iter()
            .zip(&solved.generated)
            .map(|(sitting, generated)| {
                generated
                    .completions
                    .iter()
                    .map(|completion| read(sitting, completion))
                    .collect()
            })
            .collect();
        let asked = answers.iter().flatten().filter(|answer| answer.is_ok()).count();
        if asked > 0 && !self.asked(&key) {
            let mut tasks: Vec<Task> = Vec::with_capacity(asked);
            for (sitting, answers) in sittings.iter().zip(&answers) {
                for (sample, answer) in answers.iter().enumerate() {
                    if let Ok(answer) = answer {
                        let id = format!("{}/{sample}", sitting.number);
                        tasks.push(sitting.problem.task(id, answer.clone()));
                    }
                }
            }
            self.ask(key.clone(), Payload::Verify(VerifyPayload { tasks }));
        }
        let verdicts = match (asked, self.view.verify(&key)?) {
            (0, _) => &[][..],
            (_, Some(graded)) if graded.verdicts.len() == asked => &graded.verdicts[..],
            (_, Some(graded)) => {
                let detail = format!("{} verdicts where {asked} were asked", graded.verdicts.len());
                return Err(Self::misfit(&key, detail));
            }
            (_, None) => return Ok(None),
        };
        let mut verdicts = verdicts.iter();
        let mut graded = Vec::with_capacity(sittings.len());
        let work = WorkId::of(self.run.run, &source);
        for ((sitting, answers), generated) in sittings.iter().zip(answers).zip(&solved.generated) {
            let mut attempts = Vec::with_capacity(answers.len());
            for ((sample, answer), completion) in (0..).zip(answers).zip(&generated.completions) {
                let verdict = answer.as_ref().ok().and_then(|_| verdicts.next());
                let (well_formed, correct) = self.grade(verdict);
                let attempt = Attempt {
                    source: source.clone(),
                    request: sitting.number,
                    sample,
                    kind: sitting.problem.kind,
                    solver: sitting.solver,
                    tokens: completion.tokens,
                    entropy: completion.entropy,
                    well_formed,
                    correct,
                    reward: student_reward(well_formed, correct),
                };
                if !exam.is_written {
                    let id = AttemptId::of(work, &sitting.number.to_string(), sample);
                    let row = self.attempt_record(id, exam.role, sitting, &attempt, completion, answer, verdict);
                    self.plan.records.attempts.extend(row);
                }
                attempts.push(attempt);
            }
            graded.push(attempts);
        }
        Ok(Some(graded))
    }

    /// Whether an answer is well-formed and whether it is correct, given its verdict; none where it had no form to be judged.
    fn grade(&self, verdict: Option<&Verdict>) -> (bool, bool) {
        let well_formed = verdict.is_some_and(|verdict| !self.prompts.grammar.is_unreadable(verdict.status));
        let correct = well_formed && verdict.is_some_and(|verdict| verdict.correct == Some(true));
        (well_formed, correct)
    }

    #[expect(clippy::too_many_arguments, reason = "a row has many columns")]
    fn attempt_record(
        &self,
        id: AttemptId,
        role: Role,
        sitting: &Sitting<'_>,
        attempt: &Attempt,
        completion: &Completion,
        answer: Answer,
        verdict: Option<&Verdict>,
    ) -> Option<AttemptRecord> {
        let (answer, reason) = match answer {
            Ok(answer) => (
                Some(answer),
                verdict.map(|verdict| verdict.reason.clone()).unwrap_or_default(),
            ),
            Err(reason) => (None, reason),
        };
        Some(AttemptRecord {
            id,
            problem: sitting.problem.id,
            solver: self.members.get(sitting.solver)?.playing(self.run.run),
            role,
            sample: attempt.sample,
            text: completion.text.clone(),
            answer,
            well_formed: attempt.well_formed,
            status: verdict.map_or(Status::Malformed, |verdict| verdict.status),
            reason,
            correct: attempt.correct,
            reward: attempt.reward,
            reward_parts: serde_json::json!({
                "format": if attempt.well_formed { 0.0 } else { -1.0 },
                "correct": match (attempt.well_formed, attempt.correct) {
                    (true, true) => 1.0,
                    (true, false) => -0.5,
                    (false, _) => 0.0,
                },
            }),
            tokens: attempt.tokens,
        })
    }
}
