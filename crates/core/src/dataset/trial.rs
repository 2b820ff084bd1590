//! Whether the tests of a row tell right programs from wrong ones, as far as its own solution and an empty program show it.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::benchmark::{BenchmarkRow, Question, task};
use crate::verify::{Status, Task, Verdict};

/// Why tests cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TestFaultKind {
    /// An empty program passes them, and so does every other.
    PassesEmpty,
    /// The row's canonical solution fails them.
    FailsCanonical,
    /// They cannot be run, or assert nothing, and there is no canonical solution that shows otherwise.
    Unusable,
}

crate::named!(TestFaultKind, "a fault of tests");

impl TestFaultKind {
    /// In words.
    pub fn told(self) -> &'static str {
        match self {
            Self::PassesEmpty => "passes for an empty program",
            Self::FailsCanonical => "fails its own canonical solution",
            Self::Unusable => "cannot judge any program",
        }
    }
}

/// What is wrong with the tests of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFault {
    /// Why they cannot be used.
    pub reason: TestFaultKind,
    /// What the verifier said.
    pub message: String,
}

/// The answers to try the oracle of `row` with: an empty one, its canonical solution if it has one, and `completion` if one is
/// given. None if its oracle is neither a script nor a reward.
pub fn trial(place: u32, row: &BenchmarkRow, completion: Option<&str>) -> Vec<Task> {
    if !matches!(row.oracle, Question::Script { .. } | Question::Python { .. }) {
        return Vec::new();
    }
    let programs = [
        ("empty", Some(String::new())),
        ("canonical", row.canonical.clone()),
        ("completion", completion.map(str::to_owned)),
    ];
    let tasks = programs.into_iter().filter_map(|(name, program)| task(row, format!("{place}/{name}"), program?).ok());
    tasks.collect()
}

/// The fault that the verdicts on a [`trial`] show.
pub fn test_fault(verdicts: &[Verdict]) -> Option<TestFault> {
    let (empty, canonical) = (verdicts.first()?, verdicts.get(1));
    if empty.parts.is_some() {
        // A reward may give any score, but it has to give one.
        let failed = verdicts.iter().find(|verdict| verdict.status != Status::Ok)?;
        return Some(TestFault { reason: TestFaultKind::Unusable, message: failed.reason.clone() });
    }
    let (reason, verdict) = match canonical {
        _ if empty.correct == Some(true) => (TestFaultKind::PassesEmpty, empty),
        Some(canonical) if canonical.correct != Some(true) => (TestFaultKind::FailsCanonical, canonical),
        None if empty.status == Status::Malformed => (TestFaultKind::Unusable, empty),
        _ => return None,
    };
    Some(TestFault { reason, message: verdict.reason.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(correct: bool, status: Status) -> Verdict {
        Verdict { correct: Some(correct), ..Verdict::bare(None, status, "said") }
    }

    #[test]
    fn a_reward_is_bad_that_gives_no_score() {
        let scored = |status, score: f64| Verdict {
            parts: Some([("score".to_owned(), score)].into()),
            ..verdict(score >= 1.0, status)
        };
        assert_eq!(test_fault(&[scored(Status::Ok, 1.0), scored(Status::Ok, 0.0)]), None);
        let fault = test_fault(&[scored(Status::Ok, 0.0), scored(Status::Error, 0.0)]).unwrap();
        assert_eq!((fault.reason, fault.message.as_str()), (TestFaultKind::Unusable, "said"));
    }

    #[test]
    fn tests_are_bad_that_pass_nothing_at_all_or_fail_what_is_right() {
        use Status::{Error, Malformed, Ok, Timeout};
        let kind = |verdicts: &[Verdict]| test_fault(verdicts).map(|fault| fault.reason);
        let [right, wrong] = [verdict(true, Ok), verdict(false, Ok)];
        let malformed = verdict(false, Malformed);
        assert_eq!(kind(&[wrong.clone(), right.clone()]), None);
        assert_eq!(kind(&[verdict(false, Error), right.clone()]), None);
        assert_eq!(kind(std::slice::from_ref(&wrong)), None);
        for canonical in [right.clone(), wrong.clone()] {
            assert_eq!(kind(&[right.clone(), canonical]), Some(TestFaultKind::PassesEmpty));
        }
        for canonical in [wrong.clone(), malformed.clone(), verdict(false, Timeout)] {
            let verdicts = [wrong.clone(), canonical];
            assert_eq!(kind(&verdicts), Some(TestFaultKind::FailsCanonical));
        }
        assert_eq!(kind(std::slice::from_ref(&malformed)), Some(TestFaultKind::Unusable));
        assert_eq!(kind(&[malformed, right]), None, "its solution shows that they can judge");
    }
}
