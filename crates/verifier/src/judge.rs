//! Judges tasks.

/// A regular expression that is compiled once.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a pattern"));
    };
}

mod mathematics;
mod meaning;
mod notation;
mod propose;
mod reading;
mod repetition;
mod reward;
mod solve;
mod tests;

use std::collections::BTreeMap;
use std::time::Instant;

use lyceum_core::verify::{Check, Status, Task, Verdict, Wordings};

use crate::execution::Failed;
use crate::gold::{GoldCache, Key};
use crate::sandbox::{Limits, SandboxError};
use crate::slot::Slot;
use crate::value::Comparison;

/// A task on which the sandbox itself failed. It carries a verdict against the answer (or proposal), for callers that
/// must have one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unjudged(pub Box<Verdict>);

/// The verdict on a task, or the task's verdict of last resort if the sandbox failed.
pub(crate) type Judgement = Result<Verdict, Unjudged>;

/// Resources for judging one task.
pub(crate) struct Bench<'a> {
    pub(crate) slot: &'a mut Slot,
    pub(crate) gold: &'a GoldCache,
    pub(crate) comparison: Comparison,
}

impl Bench<'_> {
    /// Judges a task. If the sandbox itself fails, retries once with new zygotes, then reports the failure.
    pub(crate) fn judge(&mut self, task: &Task) -> Judgement {
        let start = Instant::now();
        let finished = |verdict: Verdict| Verdict {
            id: Some(task.id.clone()),
            millis: (start.elapsed().as_secs_f64() * 1e6).round() / 1e3,
            ..verdict
        };
        let key = endless_key(&task.check, self.slot.limits());
        if let Some(verdict) = key.and_then(|key| self.gold.endless(&key)) {
            return Ok(finished(verdict));
        }
        self.slot.begin(&task.check);
        let mut result = self.verdict(task);
        if !matches!(result, Ok(_) | Err(SandboxError::Abandoned)) {
            self.slot.reset();
            self.slot.begin(&task.check);
            result = self.verdict(task);
        }
        if let (Some(key), Ok(verdict)) = (key, &result)
            && verdict.status == Status::Timeout
            && self.slot.ended_in_work()
        {
            self.gold.put_endless(key, verdict);
        }
        self.slot.end();
        let is_judged = result.is_ok();
        let verdict = result.unwrap_or_else(|error| {
            let reason = match error {
                SandboxError::Abandoned => error.to_string(),
                _ => {
                    self.slot.reset();
                    format!("the sandbox failed twice: {error}")
                }
            };
            refused(&task.check, Failed::new(Status::Error, reason))
        });
        if is_judged { Ok(finished(verdict)) } else { Err(Unjudged(Box::new(finished(verdict)))) }
    }

    fn verdict(&mut self, task: &Task) -> Result<Verdict, SandboxError> {
        match &task.check {
            Check::Propose(proposal) => self.propose(proposal),
            Check::Solve(solution) => self.solve(solution),
            Check::Tests(tests) => self.tests(&task.id, tests),
            Check::Math(pair) => self.mathematics(pair),
            Check::Cluster(answers) => self.cluster(answers),
            Check::Reward(reward) => self.reward(&task.check, reward),
            Check::Repetition(wordings) => Ok(repetition::repetition(wordings)),
        }
    }
}

/// The key under which the verdict on a program that does not end is kept: it would use up its CPU time again.
fn endless_key(check: &Check, limits: Limits) -> Option<Key> {
    match check {
        Check::Propose(_) | Check::Solve(_) => Some(Key::of(&(check, limits.cpu))),
        // Test suites are long, and their programs are seldom the same.
        _ => None,
    }
}

/// A verdict against the answer (or proposal), with the fields of its kind.
pub(crate) fn refused(check: &Check, failed: Failed) -> Verdict {
    let verdict = Verdict::bare(None, failed.status, failed.reason);
    match check {
        Check::Propose(_) => Verdict { valid: Some(false), ..verdict },
        Check::Cluster(texts) | Check::Repetition(Wordings { texts, .. }) => {
            Verdict { clusters: Some(vec![None; texts.len()]), ..verdict }
        }
        Check::Reward(_) => Verdict { correct: Some(false), parts: Some(BTreeMap::new()), ..verdict },
        _ => Verdict { correct: Some(false), ..verdict },
    }
}

/// A verdict that an answer is wrong or could not be judged.
fn incorrect(failed: Failed) -> Verdict {
    Verdict { correct: Some(false), ..Verdict::bare(None, failed.status, failed.reason) }
}

#[cfg(test)]
mod remembered;

#[cfg(test)]
mod unjudged {
    use super::*;
    use crate::sandbox::{Budget, Interpreter, Namespaces, Watch, ZygotePlan};
    use lyceum_core::verify::Solution;

    #[test]
    fn a_sandbox_that_does_not_start_is_told_from_a_wrong_answer() {
        let interpreter = Interpreter {
            executable: "/no/such/python3".into(),
            base_prefix: "/no/such".into(),
            version: "3.11.2".to_owned(),
            standard_library: "/no/such/lib".into(),
            packages: Vec::new(),
        };
        let mut bench = Bench {
            slot: &mut Slot::new(ZygotePlan {
                interpreter,
                namespaces: Namespaces::Never,
                limits: Limits::default(),
                packages: Vec::new(),
                watch: Watch::default(),
                budget: Budget::default(),
            }),
            gold: &GoldCache::default(),
            comparison: Comparison::Python,
        };
        let solution = |answer: &str| Task {
            id: "a".to_owned(),
            check: Solution::Output {
                program: "def f(a):\n    return a".to_owned(),
                input: "1".to_owned(),
                answer: answer.to_owned(),
            }
            .into(),
        };
        let Err(Unjudged(verdict)) = bench.judge(&solution("1")) else {
            panic!("nothing can have been run");
        };
        assert_eq!((verdict.id.as_deref(), verdict.correct), (Some("a"), Some(false)));
        assert!(verdict.reason.starts_with("the sandbox failed twice: "), "{}", verdict.reason);
        let malformed = bench.judge(&solution("an answer")).unwrap();
        assert_eq!(malformed.status, Status::Malformed, "a task that needs no sandbox is judged");
    }
}
