//! A step of RLVR.

use std::sync::Arc;

use super::{Parameters, enter::Entered, memory::Memory, metrics};
use crate::{
    advantage::Sampled,
    benchmark::{Graded, PromptStyle, graded, task},
    id::{AttemptId, WorkId},
    recipe::{
        AttemptRecord, Draft, Generation, Learner, Lesson, PlanError, Progress, Role, RunState, Sequence, StepView, join,
    },
    verify::Task,
    work::{Completion, RolloutResult, WorkKey},
};

/// The phases, in order.
pub(super) struct Step<'a> {
    pub(super) draft: Draft<'a>,
    pub(super) parameters: &'a Parameters,
    pub(super) style: Arc<PromptStyle>,
}

/// A row in front of a member.
pub(super) struct Question {
    /// The request's name.
    pub(super) number: u32,
    pub(super) row: Arc<Entered>,
    /// A place among the members.
    pub(super) member: usize,
}

/// An answer that was graded.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) member: usize,
    /// What the sequence is learned by; answers to one question are a group.
    pub(super) sequence: Sequence,
    pub(super) well_formed: bool,
    pub(super) correct: bool,
    pub(super) entropy: Option<f32>,
}

impl<'a> Step<'a> {
    pub(super) fn new(run: &'a RunState, view: &'a StepView, parameters: &'a Parameters) -> Result<Self, PlanError> {
        let style = || PromptStyle::shipped(&parameters.prompts).map_err(|error| PlanError::Other(error.to_string()));
        Ok(Self {
            draft: Draft::new(run, view, run.memory::<Memory>()?.members),
            parameters,
            style: view.once("style", style)?,
        })
    }

    /// Draw → solve → grade → advantages → update.
    pub(super) fn play(&mut self) -> Progress<RunState> {
        self.draft.born()?;
        let questions = self.questions()?;
        let size = self.parameters.items.solve as usize;
        let answers = join((0..).zip(questions.chunks(size)), |(chunk, questions)| {
            let solved = self.solve(chunk, questions)?;
            self.grade(chunk, questions, solved)
        })?;
        let answers: Vec<Answer> = answers.iter().flat_map(|part| part.iter().cloned()).collect();
        let lesson = Lesson {
            learning: &self.parameters.learning,
            items: &self.parameters.items,
        };
        let learners = self.learners(&answers);
        let updated = self.draft.update(lesson, &learners)?;
        self.draft.adopt(&updated);
        let records = metrics::records(&self.draft, &answers, &updated);
        self.draft.plan.records.metrics.extend(records);
        let members = std::mem::take(&mut self.draft.members);
        Ok(self.draft.run.next("", &Memory { members })?)
    }

    /// The answers of a chunk.
    fn solve(&mut self, chunk: u32, questions: &[Question]) -> Progress<&'a RolloutResult> {
        let key = self.draft.key("solve", chunk);
        let n = self.parameters.n;
        self.draft.generate(&key, [questions.len(), n as usize], || {
            let requests = questions.iter().map(|question| {
                let prompt = self.style.render(&question.row.row).map_err(|error| PlanError::Other(error.to_string()))?;
                Ok((question.number, question.member, prompt))
            });
            let mut sampling = self.parameters.sampling.clone();
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

    /// The verdicts on a chunk's answers: 1 where it is right, 0 where it is wrong or has no form to be judged.
    fn grade(&mut self, chunk: u32, questions: &[Question], solved: &RolloutResult) -> Progress<Arc<Vec<Answer>>> {
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
        Answer {
            member: question.member,
            sequence: Sequence {
                source: source.clone(),
                request: question.number,
                sample,
                sampled: Sampled {
                    reward: f32::from(u8::from(graded.correct)),
                    group: question.number,
                    tokens: completion.tokens,
                },
            },
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
        let Sequence { source, sample, sampled, .. } = &answer.sequence;
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

    /// Every member with its own answers and their advantages.
    fn learners(&self, answers: &[Answer]) -> Vec<Learner> {
        let scale = self.parameters.learning.reward_scale;
        let learner = |member: usize| {
            let own = answers.iter().filter(|answer| answer.member == member);
            let sequences: Vec<Sequence> = own.map(|answer| answer.sequence.clone()).collect();
            let batch: Vec<((), Sampled)> = sequences
                .iter()
                .map(|Sequence { sampled, .. }| ((), Sampled { reward: sampled.reward * scale, ..*sampled }))
                .collect();
            Learner {
                member,
                advantages: self.parameters.advantages.advantages(&batch),
                sequences,
                ..Learner::default()
            }
        };
        (0..self.draft.members.len()).map(learner).collect()
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

/// Every completion with its question and its number among the question's samples, by index.
fn completions<'r>(
    questions: &'r [Question],
    solved: &'r RolloutResult,
) -> impl Iterator<Item = (&'r Question, u32, &'r Completion)> {
    questions.iter().zip(&solved.generated).flat_map(|(question, generated)| {
        let completions = (0..).zip(&generated.completions);
        completions.map(move |(sample, completion)| (question, sample, completion))
    })
}
