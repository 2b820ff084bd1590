//! Checks proposals and computes their outputs.

use std::fmt::{self, Write as _};

use lyceum_core::verify::{Complexity, Proposal, Status, Verdict};

use super::Bench;
use super::solve::input_arguments;
use crate::execution::{Failed, MAX_TEXT, Outcome, Program, execute_one};
use crate::program::{Refusal, admit, complexity, is_suspicious, with_module};
use crate::sandbox::SandboxError;
use crate::value::{Comparison, Value};

/// Runs of a proposal, in turn in two zygotes with different hash seeds, that must give the same value.
const RUNS: usize = 2;

/// Runs of one that mentions clocks, addresses or the like.
const SUSPICIOUS_RUNS: usize = 4;

/// Maximum length of the outputs of a proposal together, as text.
const MAX_OUTPUTS: usize = 8 << 20;

impl Bench<'_> {
    pub(super) fn propose(&mut self, proposal: &Proposal) -> Result<Verdict, SandboxError> {
        let (program, inputs) = match proposal {
            Proposal::Io { program, input, .. } => (program, std::slice::from_ref(input)),
            Proposal::Function { program, inputs, .. } => (program, inputs.as_slice()),
        };
        let (complexity, admission) = examine(program);
        let is_suspicious = with_module(program, is_suspicious).unwrap_or_default();
        let runs = if is_suspicious { SUSPICIOUS_RUNS } else { RUNS };
        let invalid = |failed: Failed| Verdict {
            valid: Some(false),
            complexity,
            ..Verdict::bare(None, failed.status, failed.reason)
        };
        if let Err(failed) = admission {
            return Ok(invalid(failed));
        }
        if inputs.is_empty() {
            return Ok(invalid(Failed::new(Status::Malformed, "there are no inputs")));
        }
        let cpu = self.slot.limits().cpu;
        let mut outputs: Vec<String> = Vec::with_capacity(inputs.len());
        let mut room = MAX_OUTPUTS;
        for (at, input) in inputs.iter().enumerate() {
            let output = self.determine(program, input, runs)?.and_then(|value| {
                let output = value.to_string();
                let too_long = |limit: usize| {
                    let reason = format!("the output has {} bytes as text; at most {limit} are kept", output.len());
                    Failed::new(Status::Unserialisable, reason)
                };
                if output.len() > MAX_TEXT {
                    return Err(too_long(MAX_TEXT));
                }
                room = room.checked_sub(output.len()).ok_or_else(|| too_long(room))?;
                // What its solvers' answers will be compared with.
                self.gold.put(program, input, cpu, &value);
                Ok(output)
            });
            match output {
                Ok(output) => outputs.push(output),
                Err(failed) => {
                    let prefix = if inputs.len() > 1 { format!("input {at}: ") } else { String::new() };
                    return Ok(invalid(Failed { reason: format!("{prefix}{}", failed.reason), ..failed }));
                }
            }
        }
        let verdict = Verdict { valid: Some(true), complexity, ..Verdict::bare(None, Status::Ok, "") };
        Ok(match proposal {
            Proposal::Io { .. } => Verdict { output: outputs.pop(), ..verdict },
            Proposal::Function { .. } => Verdict { outputs: Some(outputs), ..verdict },
        })
    }

    /// The value of a program on an input, if all runs agree on it and it can be written as a literal.
    fn determine(&mut self, program: &str, input: &str, runs: usize) -> Result<Result<Value, Failed>, SandboxError> {
        let limits = self.slot.limits();
        let mut first: Option<Value> = None;
        for zygote in self.slot.both()?.into_iter().cycle().take(runs) {
            let call = match input_arguments(zygote, limits, input)? {
                Ok(call) => call,
                Err(failed) => return Ok(Err(failed)),
            };
            match (execute_one(zygote, limits, Program::f(program), call)?, &first) {
                (Outcome::Value(value), None) => first = Some(value),
                (Outcome::Value(value), Some(first)) if Comparison::Strict.equal(first, &value) => {}
                (Outcome::Value(value), Some(first)) => {
                    let reason = format!("two executions gave {} and {}", excerpt(first), excerpt(&value));
                    return Ok(Err(Failed::new(Status::Nondeterministic, reason)));
                }
                (Outcome::Failed(failed), None) => return Ok(Err(failed)),
                (Outcome::Failed(failed), Some(_)) => {
                    let status = match failed.status {
                        Status::Timeout | Status::Memory => failed.status,
                        _ => Status::Nondeterministic,
                    };
                    let reason = format!("one execution gave a value, another did not: {}", failed.reason);
                    return Ok(Err(Failed::new(status, reason)));
                }
                (Outcome::Large(_), _) => {
                    return Ok(Err(Failed::new(Status::Unserialisable, "its value is too large")));
                }
            }
        }
        Ok(match first {
            Some(value) if value.has_literal() => Ok(value),
            Some(value) => {
                Err(Failed::new(Status::Unserialisable, format!("the output {} is not a literal", excerpt(&value))))
            }
            None => Err(Failed::new(Status::Error, "it was not run")),
        })
    }
}

fn examine(program: &str) -> (Option<Complexity>, Result<(), Failed>) {
    match with_module(program, |module| (complexity(program, module), admit(module))) {
        Err(reason) => (None, Err(Failed::new(Status::Malformed, reason))),
        Ok((complexity, admission)) => {
            let admission = admission.map_err(|refusal| match refusal {
                Refusal::Form(reason) => Failed::new(Status::Malformed, reason),
                Refusal::Banned(reason) => Failed::new(Status::Unsafe, reason),
            });
            (Some(complexity), admission)
        }
    }
}

/// The beginning of a value's repr, for a message.
pub(super) fn excerpt(value: &Value) -> String {
    struct Excerpt {
        text: String,
        room: usize,
    }
    impl fmt::Write for Excerpt {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            for character in part.chars() {
                self.room = self.room.checked_sub(1).ok_or(fmt::Error)?;
                self.text.push(character);
            }
            Ok(())
        }
    }
    let mut excerpt = Excerpt { text: String::new(), room: 80 };
    // A large value is not written to its end.
    if write!(excerpt, "{value}").is_err() {
        excerpt.text.push('…');
    }
    excerpt.text
}
