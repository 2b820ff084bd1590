//! Measures base, parents and children on rows of the tasks, all with the same draws.

use std::sync::Arc;

use super::plan::{Reference, Step};
use super::{ParentPoint, PassRate, RowCounts, TaskResult};
use crate::contract::phase::{GRADE_MEASURE, MEASURE};
use crate::contract::{CostClass, Phase, PlanError};
use crate::kit::rows::{Asking, Question, RewardConfig};
use crate::kit::{Member, Progress, join};

/// The phases that measure base and parents.
const REFER: [Phase; 2] = [Phase::new("refer", CostClass::Measure), Phase::new("grade-refer", CostClass::Measure)];

/// A member and a task: positions among both.
type Subject = (usize, usize);

impl<'a> Step<'a> {
    /// The members that are only measured, in step 0: the base, and every parent at every step of its curve.
    pub(super) fn measured_only(&self) -> Vec<Member> {
        let base = Member::unborn("base".to_owned(), Vec::new(), 0);
        let versions = self.parameters.tasks.iter().flat_map(|task| {
            task.curve.iter().map(|version| Member {
                adapter: Some(version.adapter),
                ..Member::unborn(format!("{}-{}", task.name, version.step), Vec::new(), 0)
            })
        });
        std::iter::once(base).chain(versions).collect()
    }

    /// What the children are compared with, and the curves of base and parents. The members that are only measured
    /// begin at `first`.
    pub(super) fn refer(&mut self, first: usize) -> Progress<(Vec<Reference>, Vec<TaskResult>)> {
        let parameters = self.parameters;
        let mut subjects: Vec<Subject> = Vec::new();
        let mut next = first + 1;
        for (place, task) in parameters.tasks.iter().enumerate() {
            subjects.push((first, place));
            subjects.extend((next..next + task.curve.len()).map(|member| (member, place)));
            next += task.curve.len();
        }
        let mut counts = self.counts(REFER, &subjects)?.into_iter();
        let (mut references, mut results) = (Vec::new(), Vec::new());
        for task in &parameters.tasks {
            let missing = || PlanError::Other("a parent was not measured".to_owned());
            let base = counts.next().ok_or_else(missing)?;
            let curve: Vec<RowCounts> = counts.by_ref().take(task.curve.len()).collect();
            let point = |(version, counts): (_, &RowCounts)| {
                let crate::evaluations::ParentVersion { step, .. } = version;
                ParentPoint { step, rate: counts.rate() }
            };
            let rate: PassRate = base.rate();
            results.push(TaskResult {
                run: task.run,
                member: task.member,
                name: task.name.clone(),
                dataset: task.dataset,
                first_row: task.first_row,
                rows: task.rows,
                measured: base.correct.len() as u32,
                base: rate,
                curve: task.curve.iter().copied().zip(&curve).map(point).collect(),
            });
            let of_snapshot = |snapshot: &u32| {
                let place = task.curve.iter().position(|version| version.step == *snapshot);
                place.and_then(|place| curve.get(place)).cloned().ok_or_else(missing)
            };
            let parents = parameters.snapshots.iter().map(of_snapshot);
            references.push(Reference { parents: parents.collect::<Result<_, _>>()?, base });
        }
        Ok((references, results))
    }

    /// The children's correct answers, child by child and task by task; none in a step that is not measured.
    pub(super) fn measure(&mut self) -> Progress<Option<Vec<RowCounts>>> {
        if !self.parameters.is_due(self.rows.draft.run.step) {
            return Ok(None);
        }
        let children = self.children().enumerate();
        let subjects = children.flat_map(|(member, child)| child.tasks().map(move |task| (member, task)));
        let subjects: Vec<Subject> = subjects.collect();
        self.counts([MEASURE, GRADE_MEASURE], &subjects).map(Some)
    }

    /// Correct answers of members to the measured rows of tasks. An item has rows of one subject, so that equal weights
    /// answer equally to the last bit, and about as many answers as an item of training.
    fn counts(&mut self, phases: [Phase; 2], subjects: &[Subject]) -> Progress<Vec<RowCounts>> {
        let (parameters, training) = (self.parameters, self.training);
        let tasks = join(0..parameters.tasks.len(), |task| self.questions(task))?;
        let size = (self.rows_of_item().saturating_mul(training.n) / parameters.n).max(1) as usize;
        let of_subject = |&(member, task): &Subject| -> Vec<Question> {
            let questions = tasks.get(task).map_or(&[][..], |questions| questions.as_slice());
            let own = questions.iter().map(|question| Question { member, ..question.clone() });
            own.collect()
        };
        let questions: Vec<Vec<Question>> = subjects.iter().map(of_subject).collect();
        let parts = questions.iter().enumerate();
        let parts: Vec<(usize, &[Question])> =
            parts.flat_map(|(subject, own)| own.chunks(size).map(move |part| (subject, part))).collect();
        let asking = Asking {
            phases,
            n: parameters.n,
            sampling: &training.sampling,
            reward: &RewardConfig::default(),
            draws: Some("measured"),
            round: 0,
            is_learned: false,
        };
        let answers = self.rows.answers_in(asking, parts.iter().map(|(_, part)| *part))?;
        let none = |own: &Vec<Question>| RowCounts::none(own.len(), parameters.n);
        let mut counts: Vec<RowCounts> = questions.iter().map(none).collect();
        for ((subject, _), answers) in parts.iter().zip(&answers) {
            for answer in answers.iter().filter(|answer| answer.correct) {
                counts[*subject].correct[answer.sequence.request as usize] += 1;
            }
        }
        Ok(counts)
    }

    /// The measured rows of a task, numbered in order.
    fn questions(&mut self, task: usize) -> Progress<Arc<Vec<Question>>> {
        let view = self.rows.draft.view;
        view.once(&format!("measured/{task}"), || {
            let task = &self.parameters.tasks[task];
            let places = task.measured(self.parameters.rows).into_iter().map(|place| (0, place));
            self.rows.read(task.dataset, &places.collect::<Vec<_>>())
        })
    }
}
