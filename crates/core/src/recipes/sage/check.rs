//! Checks that the verifier of a challenge can decide whether an answer is correct.

use std::sync::Arc;

use super::{challenge::Challenge, step::Step, task::Task, verifier::Verifier};
use crate::{
    contract::phase::CHECK,
    kit::{
        Progress,
        judge::{Given, Judged},
    },
    verify::Status,
};

/// A task whose verifier is valid, or why it is not.
pub(super) type Checked = Result<Arc<Task>, String>;

impl Step<'_> {
    /// Each challenge of a chunk as a task. A verifier is valid if it is of a known type and tells answers apart: an answer
    /// to a question of mathematics must be accepted as the answer to itself, and tests must refuse a function in which
    /// there is nothing.
    pub(super) fn check(&mut self, chunk: u32, challenges: &[Challenge]) -> Progress<Vec<Checked>> {
        let read = challenges
            .iter()
            .map(|challenge| match (&challenge.task, &challenge.unverifiable) {
                (Ok(task), None) => Ok(Arc::clone(task)),
                (Err(reason), _) | (Ok(_), Some(reason)) => Err(reason.clone()),
            });
        let read: Vec<Checked> = read.collect();
        let given = challenges.iter().zip(&read).filter_map(|(challenge, task)| {
            let verifier = &task.as_ref().ok()?.verifier;
            Some(trial(verifier, challenge.number.to_string()))
        });
        let given = given.collect();
        let key = self.draft.key(CHECK, chunk);
        let mut judged = self.draft.judge(&key, given)?.into_iter();
        let checked = read.iter().map(|task| {
            let task = task.clone()?;
            match judged.next().and_then(|judged| fault(&task.verifier, judged)) {
                Some(reason) => Err(reason),
                None => Ok(task),
            }
        });
        Ok(checked.collect())
    }
}

/// What a verifier is tried on.
fn trial(verifier: &Verifier, id: String) -> Given {
    let answer = match verifier {
        Verifier::Generated(generated) => generated.empty_program(),
        other => other.text().to_owned(),
    };
    verifier.given(id, Ok(answer))
}

/// Why a verifier is not valid, after its trial.
fn fault(verifier: &Verifier, judged: Judged) -> Option<String> {
    let Verifier::Generated(_) = verifier else {
        return (!judged.correct).then_some(judged.reason);
    };
    // A name that is not defined is the tests' own fault: an empty function raises nothing.
    let is_undefined = judged.reason.contains("NameError");
    match judged.status {
        _ if judged.correct => Some("the tests pass on a function in which there is nothing".to_owned()),
        Status::Ok | Status::Error if !is_undefined => None,
        _ => Some(judged.reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::sage::generated::Generated;

    #[test]
    fn tests_must_run_and_refuse_an_empty_function() {
        let tests = Verifier::Generated(Generated {
            entry_point: "f".to_owned(),
            tests: "assert f(1) == 2".to_owned(),
        });
        let fault = |verifier: &Verifier, correct, status, reason: &str| {
            let judged = Judged {
                answer: Ok(String::new()),
                correct,
                status,
                reason: reason.to_owned(),
            };
            fault(verifier, judged)
        };
        assert_eq!(fault(&tests, false, Status::Ok, "an assertion does not hold"), None);
        assert_eq!(
            fault(&tests, false, Status::Error, "TypeError: None"),
            None,
            "the tests expect a number"
        );
        assert!(fault(&tests, true, Status::Ok, "").is_some_and(|reason| reason.contains("nothing")));
        let own = "NameError: name 'g' is not defined";
        assert_eq!(fault(&tests, false, Status::Error, own).as_deref(), Some(own));
        assert!(fault(&tests, false, Status::Malformed, "field `test`: it is no Python").is_some());
        assert!(fault(&tests, false, Status::Timeout, "too slow").is_some());
        let answer = Verifier::Answer("1".to_owned());
        assert_eq!(fault(&answer, true, Status::Ok, ""), None);
        assert_eq!(
            fault(&answer, false, Status::Ok, "unreadable").as_deref(),
            Some("unreadable")
        );
    }
}
