//! Checks that the answer of a challenge can decide whether another is correct.

use std::sync::Arc;

use super::{challenge::Challenge, step::Step, task::Task};
use crate::recipe::{Progress, mathematics::Given};

/// A task whose verifier is valid, or why it is not.
pub(super) type Checked = Result<Arc<Task>, String>;

impl Step<'_> {
    /// Each challenge of a chunk as a task. A verifier is valid if it is of a known type and accepts its own answer.
    pub(super) fn check(&mut self, chunk: u32, challenges: &[Challenge]) -> Progress<Vec<Checked>> {
        let read = challenges
            .iter()
            .map(|challenge| match (&challenge.task, &challenge.unverifiable) {
                (Ok(task), None) => Ok(Arc::clone(task)),
                (Err(reason), _) | (Ok(_), Some(reason)) => Err(reason.clone()),
            });
        let read: Vec<Checked> = read.collect();
        let given = challenges.iter().zip(&read).filter_map(|(challenge, task)| {
            let task = task.as_ref().ok()?;
            Some(Given {
                id: challenge.number.to_string(),
                gold: &task.answer,
                answer: Ok(task.answer.clone()),
            })
        });
        let given = given.collect();
        let key = self.draft.key("check", chunk);
        let mut judged = self.draft.judge(&key, given)?.into_iter();
        let checked = read.iter().map(|task| {
            let task = task.clone()?;
            match judged.next() {
                Some(judged) if !judged.correct => Err(judged.reason),
                _ => Ok(task),
            }
        });
        Ok(checked.collect())
    }
}
