//! Phase 3: the student learns from the iteration's lemmas and lifts, each posed as induction, deduction or abduction
//! (section 3.3.2).

use rand::Rng as _;
use std::sync::Arc;

use super::LearnFrom;
use super::candidate::Candidate;
use super::metrics::Tally;
use super::round::Posed;
use super::step::Step;
use crate::advantage::{AdvantageConfig, Estimator, Sampled};
use crate::contract::phase::{GRADE, SOLVE};
use crate::contract::{ParentRelation, PlanError, ProblemRecord, Role};
use crate::id::{ProblemId, WorkId};
use crate::kit::code::{Assignment, Attempt, AttemptBatch, Problem, SolveProtocol};
use crate::kit::{Learner, Lesson, Progress, Sequence, join};
use crate::problem::{Statement, Values};
use crate::seed::stream;
use crate::verify::ProblemKind;
use crate::work::MemberUpdated;

/// Induction, deduction and abduction.
const FORMATS: [ProblemKind; 3] = [ProblemKind::CodeF, ProblemKind::CodeO, ProblemKind::CodeI];

impl<'a> Step<'a> {
    pub(super) fn train_student(&mut self) -> Progress<Tally<'a>> {
        let questions = self.questions()?;
        let attempts = self.attempts(&questions)?;
        let lessons = attempts.iter().map(|attempt| {
            let sequence = attempt.sample.sequence(attempt.reward, attempt.sample.request);
            (attempt.kind, sequence)
        });
        let lessons: Vec<(ProblemKind, Sequence)> = lessons.collect();
        let updated = self.update(Role::Student, lessons)?;
        Ok(Tally { attempts, updated, ..Tally::default() })
    }

    /// Each accepted lemma and lift in a format drawn uniformly.
    fn questions(&mut self) -> Progress<Arc<Vec<Problem>>> {
        let run = self.draft.run;
        let lemmas = self.memory.lemmas.iter().map(|lemma| lemma.problem);
        let stones: Vec<ProblemId> = lemmas.chain(self.memory.lifts.iter().copied()).collect();
        self.draft.problems(stones.iter().copied())?;
        let view = self.draft.view;
        view.once("questions", || {
            let mut questions = Vec::with_capacity(stones.len());
            for (number, id) in (0..).zip(&stones) {
                let stone = self.stone(*id)?;
                let mut random = stream(run.config.seed, &format!("formats/{}", run.step), u64::from(number));
                questions.push(match FORMATS[random.random_range(0..FORMATS.len())] {
                    ProblemKind::CodeF => stone,
                    format => self.converted(number, &stone, format, &mut random)?,
                });
            }
            Ok(questions)
        })
    }

    /// A problem about one shown input or output of a function's program; writes its row.
    fn converted(
        &mut self,
        number: u32,
        original: &Problem,
        kind: ProblemKind,
        random: &mut impl rand::Rng,
    ) -> Result<Problem, PlanError> {
        let Statement::Function { pairs, .. } = original.statement() else {
            return Err(PlanError::Other(format!("problem {} is not a function", original.id)));
        };
        let (input, output) = pairs[random.random_range(0..pairs.len())];
        let work = WorkId::of(self.draft.run.run, &self.draft.key("convert", 0));
        let problem = Problem {
            id: ProblemId::of(work, &number.to_string(), 0),
            kind,
            program: original.program.clone(),
            values: Values::Io { input: Some(input.to_owned()), output: Some(output.to_owned()) },
        };
        self.draft.plan.records.problems.push(ProblemRecord {
            program: Some(problem.program.clone()),
            values: serde_json::to_value(&problem.values)?,
            parents: vec![(original.id, ParentRelation::Original)],
            ..ProblemRecord::new(problem.id, number, kind)
        });
        Ok(problem)
    }

    fn attempts(&mut self, questions: &[Problem]) -> Progress<Vec<Attempt>> {
        let solver = self.player(Role::Student)?;
        let prompts = Arc::clone(&self.prompts);
        let protocol = SolveProtocol { prompts: &prompts, sampling: &self.parameters.sampling.solve };
        let size = self.parameters.items.solve;
        let attempts = join((0..).zip(questions.chunks(size as usize)), |(chunk, questions)| {
            let assignments =
                (chunk * size..).zip(questions).map(|(number, problem)| Assignment { number, problem, solver });
            let batch = AttemptBatch {
                phases: [SOLVE, GRADE],
                round: 0,
                chunk,
                samples: self.parameters.solve.samples,
                role: Role::Student,
                keep_tokens: true,
                assignments: assignments.collect(),
            };
            let solved = self.draft.solve(protocol, &batch)?;
            self.draft.grade(protocol.prompts, &batch, solved)
        })?;
        let attempts = attempts.iter().flat_map(|chunk| chunk.iter().flatten());
        Ok(attempts.cloned().collect())
    }
}

// The updates: one of the teacher after lemmas and after lifts, one of the student.

impl<'a> Step<'a> {
    /// Updates the teacher from the candidates of a stage.
    pub(super) fn update_teacher(&mut self, posed: &Posed) -> Progress<Vec<&'a MemberUpdated>> {
        let lesson = |candidate: &Candidate| {
            let sequence = candidate.sample.sequence(candidate.reward, candidate.number);
            ((), sequence)
        };
        let lessons: Vec<((), Sequence)> = match self.parameters.learn_from {
            LearnFrom::Judged => posed.candidates.iter().map(lesson).collect(),
            LearnFrom::Accepted => posed.accepted().map(lesson).collect(),
        };
        self.update(Role::Teacher, lessons)
    }

    /// Updates the member that plays `role`; returns once it is updated. Rewards are whitened within each task
    /// (task-relative REINFORCE++).
    pub(super) fn update<T: Copy + Ord>(
        &mut self,
        role: Role,
        lessons: Vec<(T, Sequence)>,
    ) -> Progress<Vec<&'a MemberUpdated>> {
        let parameters = self.parameters;
        let member = self.player(role)?;
        let mut batch: Vec<(T, Sampled)> = lessons.iter().map(|(task, sequence)| (*task, sequence.sampled)).collect();
        parameters.learning.alter(&mut batch, self.draft.run, &self.draft.members[member].name);
        let advantages = AdvantageConfig {
            estimator: Estimator::TaskRelativeReinforcePlusPlus,
            whitening: parameters.whitening,
            ..AdvantageConfig::default()
        };
        let learner = Learner {
            member,
            advantages: advantages.advantages(&batch),
            sequences: lessons.into_iter().map(|(_, sequence)| sequence).collect(),
            ..Learner::default()
        };
        let lesson = Lesson { learning: &parameters.learning, items: &parameters.items };
        let updated = self.draft.update(lesson, &[learner])?;
        self.draft.adopt(&updated);
        Ok(updated)
    }
}
