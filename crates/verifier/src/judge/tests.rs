//! Programs under test.

mod assertions;
mod livecodebench;
mod pairs;
mod reference;
mod restore;
mod script;

use lyceum_core::verify::{Failure, Oracle, Status, Tests, Verdict};

use super::{Bench, incorrect};
use crate::execution::Failed;
use crate::program::with_module;
use crate::sandbox::SandboxError;

impl Bench<'_> {
    pub(super) fn tests(&mut self, id: &str, tests: &Tests) -> Result<Verdict, SandboxError> {
        if let Err(reason) = with_module(&tests.program, |_| ()) {
            return Ok(incorrect(Failed::new(Status::Malformed, reason)));
        }
        let entry_point = tests.entry_point.as_deref();
        let results = match &tests.oracle {
            Oracle::Script { test, prompt } => {
                self.test_by_script(&tests.program, entry_point.unwrap_or_default(), test, prompt.as_deref())?
            }
            Oracle::Reference { inputs, reference, atol, task_id } => {
                let task_id = task_id.as_deref().unwrap_or(id);
                let entry_point = entry_point.unwrap_or_default();
                self.test_by_reference(&tests.program, entry_point, inputs, reference, atol.get(), task_id)?
            }
            Oracle::Pairs(pairs) => self.test_by_pairs(&tests.program, entry_point, pairs, "")?,
            Oracle::LiveCodeBench { public, private } => {
                match livecodebench::cases(public.as_deref(), private.as_deref()) {
                    Ok(cases) => {
                        let entry_point = entry_point.filter(|_| cases.is_functional);
                        if cases.is_functional && entry_point.is_none() {
                            Err(Failed::new(Status::Malformed, "functional test cases need an `entry_point`"))
                        } else {
                            self.test_by_pairs(&tests.program, entry_point, &cases.pairs, livecodebench::PREAMBLE)?
                        }
                    }
                    Err(reason) => Err(Failed::new(Status::Malformed, reason)),
                }
            }
        };
        Ok(match results {
            Err(failed) => incorrect(failed),
            Ok(results) => summary(results),
        })
    }
}

/// The result of each test: success, or the reason it failed.
type Results = Vec<Result<(), Failed>>;

fn summary(results: Results) -> Verdict {
    let total = results.len();
    let failures: Vec<Failure> = results
        .into_iter()
        .enumerate()
        .filter_map(|(index, result)| {
            result.err().map(|failed| Failure { index, status: failed.status, reason: failed.reason })
        })
        .collect();
    let worst = failures.iter().find(|failure| failure.status != Status::Ok).or(failures.first());
    let (status, reason) = match worst {
        None if total == 0 => (Status::Malformed, "there are no tests".to_owned()),
        None => (Status::Ok, String::new()),
        Some(failure) => (failure.status, format!("test {}: {}", failure.index, failure.reason)),
    };
    Verdict {
        correct: Some(failures.is_empty() && total > 0),
        passed: Some(total - failures.len()),
        total: Some(total),
        failures: Some(failures),
        ..Verdict::bare(None, status, reason)
    }
}
