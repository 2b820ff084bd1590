//! The stage in which solvers learn: draw → solve → grade → update. Proposers are frozen.

use std::sync::Arc;

use super::metrics::Tally;
use super::step::Step;
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{AttemptRecord, PlanError, Role};
use crate::id::ProblemId;
use crate::kit::judge::{given, question_of, read_answer, solve_prompt};
use crate::kit::rows::in_epochs;
use crate::kit::{Generation, Progress, Sample, Sequence, completions, join};

/// A question of the curriculum that is put to a solver.
#[derive(Clone, Debug)]
struct Drawn {
    number: u32,
    solver: usize,
    problem: ProblemId,
    question: String,
    label: String,
}

/// A graded answer.
#[derive(Clone, Debug)]
pub(super) struct Graded {
    /// The solver: a position among the members.
    pub(super) solver: usize,
    /// What is learned from it; answers to one question form a group.
    pub(super) sequence: Sequence,
    pub(super) well_formed: bool,
    pub(super) correct: bool,
    /// Mean entropy of the model over it, in nats.
    pub(super) entropy: Option<f32>,
}

impl<'a> Step<'a> {
    pub(super) fn train_solvers(&mut self) -> Progress<Tally<'a>> {
        let stage = &self.parameters.solver;
        let drawn = self.draw()?;
        let chunks = (0..).zip(drawn.chunks(self.parameters.items.solve as usize));
        let graded = join(chunks, |(chunk, drawn)| self.solve_and_grade(chunk, drawn))?;
        let graded: Vec<Graded> = graded.iter().flat_map(|chunk| chunk.iter().cloned()).collect();
        let lessons: Vec<(usize, Sequence)> =
            graded.iter().map(|answer| (answer.solver, answer.sequence.clone())).collect();
        let updated = self.update(&stage.learning_from(self.questions()), &lessons)?;
        Ok(Tally { graded, updated, ..Tally::default() })
    }

    /// Questions that each solver answers in the step.
    fn questions(&self) -> u32 {
        self.parameters.solver.questions.min(self.memory.pool.len() as u32)
    }

    /// The step's share of the curriculum, for each solver in an order of its own; nothing if it is empty.
    fn draw(&mut self) -> Progress<Arc<Vec<Drawn>>> {
        let run = self.draft.run;
        let of = self.memory.pool.len() as u32;
        let batch = self.questions();
        let mut places = Vec::new();
        for solver in &self.solvers {
            let path = format!("curriculum/{}/{}", self.stage.iteration, self.draft.members[*solver].name);
            let drawn = in_epochs(u64::from(self.stage.index) * u64::from(batch), 0..of, batch, run.config.seed, &path);
            let question = |at: u32| self.memory.curriculum.get(*self.memory.pool.get(at as usize)? as usize).copied();
            places.extend(drawn.into_iter().filter_map(|at| Some((*solver, question(at)?))));
        }
        self.draft.problems(places.iter().map(|(_, problem)| *problem))?;
        let view = self.draft.view;
        view.once("drawn", || {
            let drawn = (0..).zip(&places).map(|(number, (solver, problem))| {
                let (question, label) = question_of(view, *problem)?;
                Ok(Drawn { number, solver: *solver, problem: *problem, question, label })
            });
            drawn.collect()
        })
    }

    fn solve_and_grade(&mut self, chunk: u32, drawn: &[Drawn]) -> Progress<Arc<Vec<Graded>>> {
        let stage = &self.parameters.solver;
        let source = self.draft.key(SOLVE, chunk);
        let prompts = Arc::clone(&self.prompts);
        let solved = self.draft.generate(&source, [drawn.len(), stage.n as usize], || {
            let requests = drawn.iter().map(|drawn| {
                let prompt = solve_prompt(&prompts, &drawn.question)?;
                Ok((drawn.number, drawn.solver, prompt))
            });
            Ok(Generation {
                sampling: stage.sampling.clone(),
                samples: stage.n,
                keep_tokens: true,
                draws: None,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })?;
        let view = self.draft.view;
        view.once(&format!("graded/{chunk}"), || {
            let answers: Vec<_> = completions(drawn, solved).collect();
            let given = answers.iter().map(|(drawn, index, completion)| {
                let answer = read_answer(&self.prompts, completion);
                given(format!("{}/{index}", drawn.number), &drawn.label, answer)
            });
            let given = given.collect();
            let key = self.draft.key(GRADE, chunk);
            let judged = self.draft.judge(&key, given)?;
            let mut graded = Vec::with_capacity(answers.len());
            for ((drawn, index, completion), judged) in answers.into_iter().zip(judged) {
                let (well_formed, correct) = (judged.answer.is_ok(), judged.correct);
                let [accuracy, format] = parts(stage.format_weight, well_formed, correct);
                let sample = Sample::of(&source, drawn.number, index, completion);
                let record = AttemptRecord {
                    id: sample.attempt(self.draft.run.run),
                    problem: drawn.problem,
                    solver: self.draft.members[drawn.solver].playing(self.draft.run.run),
                    role: Role::Solver,
                    sample: index,
                    text: completion.text.clone(),
                    well_formed,
                    status: judged.status,
                    reason: judged.reason,
                    answer: judged.answer.ok(),
                    reading: None,
                    correct,
                    reward: accuracy + format,
                    reward_parts: serde_json::json!({"accuracy": accuracy, "format": format}),
                    tokens: completion.tokens,
                };
                graded.push(Graded {
                    solver: drawn.solver,
                    sequence: sample.sequence(record.reward, drawn.number),
                    well_formed,
                    correct,
                    entropy: completion.entropy,
                });
                self.draft.plan.records.attempts.push(record);
            }
            Ok(graded)
        })
    }
}

/// The parts of a reward: for the right answer, and for the format.
fn parts(format_weight: f32, well_formed: bool, correct: bool) -> [f32; 2] {
    let one = |is_so: bool| f32::from(u8::from(is_so));
    [(1.0 - format_weight) * one(correct), format_weight * one(well_formed)]
}
