//! Answers judged by a verifier. Shared by recipes whose solvers answer questions (R-Zero, SAGE).

use super::{Draft, Progress};
use crate::{
    prompt::Answer,
    verify::{Check, Status, Task},
    work::WorkKey,
};

/// An answer to be judged.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    /// Names its task among those of the item.
    id: String,
    answer: String,
    /// How it is judged, or why it cannot be read, and is wrong.
    check: Result<Check, String>,
}

impl Given {
    /// An answer that `check` decides about.
    pub(crate) fn checked(id: String, answer: String, check: Check) -> Self {
        let check = Ok(check);
        Self { id, answer, check }
    }

    /// An answer that cannot be read.
    pub(crate) fn unreadable(id: String, reason: String) -> Self {
        Self {
            id,
            answer: String::new(),
            check: Err(reason),
        }
    }
}

/// A judged answer.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) answer: Answer,
    pub(crate) correct: bool,
    pub(crate) status: Status,
    /// Why it is wrong, or cannot be read; may be empty.
    pub(crate) reason: String,
}

impl Draft<'_> {
    /// Judges answers, in order, in the item at `key`.
    pub(crate) fn judge(&mut self, key: &WorkKey, given: Vec<Given>) -> Progress<Vec<Judged>> {
        let tasks = given.iter().filter_map(|one| {
            Some(Task {
                id: one.id.clone(),
                check: one.check.clone().ok()?,
            })
        });
        let tasks: Vec<Task> = tasks.collect();
        let mut verdicts = self.verify(key, tasks.len(), || tasks)?.iter();
        let judged = given.into_iter().map(|Given { answer, check, .. }| {
            let verdict = if check.is_ok() { verdicts.next() } else { None };
            Judged {
                correct: verdict.is_some_and(|verdict| verdict.correct == Some(true)),
                status: verdict.map_or(Status::Malformed, |verdict| verdict.status),
                reason: match &check {
                    Ok(_) => verdict.map(|verdict| verdict.reason.clone()).unwrap_or_default(),
                    Err(reason) => reason.clone(),
                },
                answer: check.map(|_| answer),
            }
        });
        Ok(judged.collect())
    }
}
