//! Trains the children further, with the settings of their parents' runs.

use std::sync::Arc;

use super::step::Step;
use crate::{
    kit::{Learner, Lesson, Progress, join, rows::Question},
    work::MemberUpdated,
};

impl<'a> Step<'a> {
    /// Every child's update from answers to a batch of its tasks; none after the last step of retraining.
    pub(super) fn retrain(&mut self) -> Progress<Vec<&'a MemberUpdated>> {
        if self.rows.draft.run.step >= self.parameters.steps {
            return Ok(Vec::new());
        }
        let training = self.training;
        let questions = self.batch()?;
        let answers = self.rows.answers(training.asking(), &questions, self.rows_of_item())?;
        let (learning, items) = (&training.learning, &training.items);
        let children = self.children().count();
        let learners = self.rows.learners(children, &answers, learning, &training.advantages);
        // Nothing but the weights is read from these updates.
        let learners: Vec<Learner> = learners
            .into_iter()
            .map(|learner| learner.without_idle(learning))
            .collect();
        self.rows.draft.update(Lesson { learning, items }, &learners)
    }

    /// Rows of an item of answers: those of as many children as an item of updates has. Children have few rows each, and
    /// generation is quickest with many at once.
    pub(super) fn rows_of_item(&self) -> u32 {
        let items = &self.training.items;
        items.solve.saturating_mul(items.update)
    }

    /// The questions of every child's batch. Children of one seed draw the same rows of a task.
    fn batch(&mut self) -> Progress<Arc<Vec<Question>>> {
        let view = self.rows.draft.view;
        view.once("batch", || {
            let by_task = join(0..self.parameters.tasks.len(), |task| {
                let drawn = self.drawn(task);
                self.rows.read(self.parameters.tasks[task].dataset, &drawn)
            })?;
            let mut questions: Vec<Question> = by_task.into_iter().flatten().collect();
            questions.sort_by_key(|question| question.member);
            for (number, question) in (0..).zip(&mut questions) {
                question.number = number;
            }
            Ok(questions)
        })
    }

    /// The children that have this task, each with the rows that it answers in this step: a batch, or its share of one
    /// that is split between two tasks.
    fn drawn(&self, task: usize) -> Vec<(usize, u32)> {
        let (training, run) = (self.training, self.rows.draft.run);
        let rows = self.parameters.tasks[task].places();
        let own = self
            .children()
            .enumerate()
            .filter(|(_, child)| child.tasks().contains(&task));
        let drawn = own.flat_map(|(member, child)| {
            let tasks = child.tasks().len() as u32;
            // The first task of an odd batch has one row more.
            let share = (training.batch + tasks - 1 - task as u32) / tasks;
            let path = format!("rows/{task}/{}", child.seed);
            let rows = training
                .sampler
                .draw(rows.clone(), share, run.config.seed, &path, run.step);
            rows.into_iter().map(move |row| (member, row))
        });
        drawn.collect()
    }
}
