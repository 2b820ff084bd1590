//! Answers to rows: samples, reads and grades them.

use std::sync::Arc;

use super::{Question, Rows};
use crate::{
    benchmark::{Graded, graded, task},
    id::{AttemptId, WorkId},
    recipe::{AttemptRecord, Generation, PlanError, Progress, Role, Sample, Sequence, completions},
    verify::Task,
    work::{Completion, RolloutResult, Sampling, WorkKey},
};

/// A graded answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The solver: a position among the members.
    pub member: usize,
    /// The sequence to learn from; answers to one question form a group.
    pub sequence: Sequence,
    /// Whether a solution was found in it.
    pub well_formed: bool,
    /// Whether it solves the problem.
    pub correct: bool,
    /// Mean entropy of the model over it, in nats.
    pub entropy: Option<f32>,
}

impl<'a> Rows<'a> {
    /// The answers to a chunk of questions, `n` per question.
    pub fn solve(
        &mut self,
        chunk: u32,
        questions: &[Question],
        n: u32,
        sampling: &Sampling,
    ) -> Progress<&'a RolloutResult> {
        let key = self.draft.key("solve", chunk);
        self.draft.generate(&key, [questions.len(), n as usize], || {
            let requests = questions.iter().map(|question| {
                let prompt = self
                    .style
                    .render(&question.row.row)
                    .map_err(|error| PlanError::Other(error.to_string()))?;
                Ok((question.number, question.member, prompt))
            });
            let mut sampling = sampling.clone();
            let rows = questions.iter().map(|question| &question.row.row);
            sampling.stop.extend(self.style.stops_of(rows));
            Ok(Generation {
                sampling,
                samples: n,
                keep_tokens: true,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })
    }

    /// Grades a chunk's answers: 1 if correct, 0 if wrong or not in the required form.
    pub fn grade(&mut self, chunk: u32, questions: &[Question], solved: &RolloutResult) -> Progress<Arc<Vec<Answer>>> {
        let key = self.draft.key("grade", chunk);
        let source = self.draft.key("solve", chunk);
        let view = self.draft.view;
        let read = view.once(&format!("read/{key}"), || -> Progress<Vec<Result<String, String>>> {
            let read = completions(questions, solved).map(|(question, _, completion)| {
                let (text, finish) = (&completion.text, completion.finish_reason);
                self.style.solution(&question.row.row, text, finish)
            });
            Ok(read.collect())
        })?;
        view.once(&format!("graded/{key}"), || {
            let readable = read.iter().filter(|solution| solution.is_ok()).count();
            let tasks = tasks(questions, solved, &read)?;
            let verdicts = self.draft.verify(&key, readable, || tasks)?;
            let mut verdicts = verdicts.iter();
            let mut answers = Vec::with_capacity(read.len());
            for ((question, sample, completion), solution) in completions(questions, solved).zip(read.iter()) {
                let row = &question.row.row;
                let graded = match solution {
                    Ok(_) => verdicts.next().map(|verdict| graded(row, verdict)),
                    Err(reason) => Some(Graded::unreadable(row, reason.clone())),
                };
                let Some(graded) = graded else { continue };
                let answer = self.answer(&source, question, sample, completion, solution.is_ok(), &graded);
                self.write(question, completion, solution, &graded, &answer);
                answers.push(answer);
            }
            Ok(answers)
        })
    }

    fn answer(
        &self,
        source: &WorkKey,
        question: &Question,
        sample: u32,
        completion: &Completion,
        well_formed: bool,
        graded: &Graded,
    ) -> Answer {
        let sample = Sample::of(source, question.number, sample, completion);
        let reward = f32::from(u8::from(graded.correct));
        Answer {
            member: question.member,
            sequence: sample.sequence(reward, question.number),
            well_formed,
            correct: graded.correct,
            entropy: completion.entropy,
        }
    }

    fn write(
        &mut self,
        question: &Question,
        completion: &Completion,
        solution: &Result<String, String>,
        graded: &Graded,
        answer: &Answer,
    ) {
        let run = self.draft.run.run;
        let Sequence {
            source,
            sample,
            sampled,
            ..
        } = &answer.sequence;
        let record = AttemptRecord {
            id: AttemptId::of(WorkId::of(run, source), &question.number.to_string(), *sample),
            problem: question.row.id,
            solver: self.draft.members[question.member].playing(run),
            role: Role::Solver,
            sample: *sample,
            text: completion.text.clone(),
            answer: solution.clone().ok(),
            well_formed: answer.well_formed,
            status: graded.status,
            reason: graded.reason.clone(),
            correct: answer.correct,
            reward: sampled.reward,
            reward_parts: serde_json::json!({ "correct": sampled.reward }),
            tokens: completion.tokens,
        };
        self.draft.plan.records.attempts.push(record);
    }
}

fn tasks(
    questions: &[Question],
    solved: &RolloutResult,
    read: &[Result<String, String>],
) -> Result<Vec<Task>, PlanError> {
    let mut tasks = Vec::new();
    for ((question, sample, _), solution) in completions(questions, solved).zip(read) {
        if let Ok(solution) = solution {
            let id = format!("{}/{sample}", question.number);
            tasks.push(task(&question.row.row, id, solution.clone()).map_err(PlanError::Other)?);
        }
    }
    Ok(tasks)
}
