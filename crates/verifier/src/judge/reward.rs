//! Scores by the user's own reward.
//!
//! The reward runs in one process, code that it wants tried in another: `execute` travels to the host and on to the second
//! sandbox, and what was printed travels back as a text. A completion reaches the reward only as a text, and the score
//! leaves by a socket that only the reward's process has.

use std::collections::BTreeMap;
use std::time::Duration;

use lyceum_core::verify::{CORRECT, JsonText, MAX_REWARD_PARTS, Reward, Status, Verdict, check_reward, is_part_name};
use serde::Serialize;

use super::{Bench, refused};
use crate::execution::{Failed, MAX_VALUE, Outcome, lacking, outcome, ran};
use crate::sandbox::{Ending, Limits, Run, SandboxError};
use crate::value::{Value, decode};

/// Programs that a reward may have executed for a completion.
const MAX_EXECUTIONS: usize = 64;

/// Largest size of a part: sums of parts stay exact enough to compare.
const MAX_PART: f64 = 1e6;

/// What an executed program may print, in bytes, as far as the reward gets it.
const MAX_SEEN: usize = 1 << 20;

#[derive(Serialize)]
#[serde(tag = "do", rename = "reward")]
struct Ask<'a> {
    source: &'a str,
    prompt: &'a str,
    completion: &'a str,
    row: &'a JsonText,
}

#[derive(Serialize)]
struct Executed {
    stdout: String,
    status: Status,
    reason: String,
}

type Parts = BTreeMap<String, f64>;

impl Bench<'_> {
    pub(super) fn reward(
        &mut self,
        check: &lyceum_core::verify::Check,
        reward: &Reward,
    ) -> Result<Verdict, SandboxError> {
        Ok(match self.parts(reward)? {
            Ok(parts) => Verdict {
                correct: Some(parts.get(CORRECT).copied().unwrap_or_else(|| parts.values().sum()) >= 1.0),
                parts: Some(parts),
                ..Verdict::bare(None, Status::Ok, "")
            },
            Err(failed) => refused(check, Failed { reason: format!("the reward: {}", failed.reason), ..failed }),
        })
    }

    fn parts(&mut self, reward: &Reward) -> Result<Result<Parts, Failed>, SandboxError> {
        let malformed = |reason: String| Ok(Err(Failed::new(Status::Malformed, reason)));
        let Some(source) = &reward.source else {
            return malformed(format!("its file {} is not stored: `lyceum reward add FILE` stores one", reward.file));
        };
        if let Err(reason) = check_reward(source) {
            return malformed(reason);
        }
        if let Some(package) = self.slot.lacks(&reward.packages) {
            return Ok(Err(Failed::new(Status::Error, lacking(package))));
        }
        let programs = self.slot.limits();
        let limits = Limits { cpu: Duration::from_secs(reward.timeout.into()), ..programs.for_tests() };
        let [rewards, others] = self.slot.both()?;
        let mut run = Run::begin(rewards, limits, MAX_EXECUTIONS, MAX_VALUE)?;
        run.send(&Ask { source, prompt: &reward.prompt, completion: &reward.completion, row: &reward.row })?;
        for _ in 0..=MAX_EXECUTIONS {
            let Some(answer) = run.answer()? else {
                let (report, violation) = run.finish()?;
                return Ok(Err(match violation {
                    Some(violation) if report.ending == Ending::Stopped => Failed::protocol(violation),
                    _ => Failed::of_ending(report, limits),
                }));
            };
            if answer.kind != b'C' {
                let read = match outcome(&answer) {
                    Outcome::Value(value) => read(&value),
                    Outcome::Large(_) => Err(Failed::new(Status::Unserialisable, "its score is too large")),
                    Outcome::Failed(failed) => Err(failed),
                };
                run.complete();
                let (report, violation) = run.finish()?;
                return Ok(match (violation, report.ending) {
                    (Some(violation), _) => Err(Failed::protocol(violation)),
                    (None, Ending::Exited(0)) => read,
                    (None, _) => Err(Failed::of_ending(report, limits)),
                });
            }
            let Some((code, stdin)) = read_call(&answer.data) else {
                return Ok(Err(Failed::protocol("it asked for something else than a program")));
            };
            run.allow_waiting(programs.longest())?;
            let (printed, failed) = ran(others, programs, &code, &stdin)?;
            run.allow_waiting(limits.wall)?;
            let seen = String::from_utf8_lossy(&printed[..printed.len().min(MAX_SEEN)]).into_owned();
            run.send(&Executed {
                stdout: seen,
                status: failed.as_ref().map_or(Status::Ok, |failed| failed.status),
                reason: failed.map(|failed| failed.reason).unwrap_or_default(),
            })?;
        }
        let detail = format!("it executes more than {MAX_EXECUTIONS} programs for a completion");
        Ok(Err(Failed::new(Status::Error, detail)))
    }
}

/// The code and the standard input of a call of `execute`.
fn read_call(call: &[u8]) -> Option<(String, String)> {
    let Ok(Value::Tuple(texts)) = decode(call) else { return None };
    let [Value::Str(code), Value::Str(stdin)] = texts.as_slice() else { return None };
    Some((code.as_str()?.to_owned(), stdin.as_str()?.to_owned()))
}

fn read(value: &Value) -> Result<Parts, Failed> {
    let wrong = |reason: String| Failed::new(Status::Unserialisable, reason);
    let Value::Dict(entries) = value else { return Err(Failed::protocol("it sent no parts")) };
    if entries.is_empty() || entries.len() > MAX_REWARD_PARTS {
        let count = entries.len();
        return Err(wrong(format!("its score has {count} parts: 1 to {MAX_REWARD_PARTS} are valid")));
    }
    let mut parts = Parts::new();
    for (name, value) in entries {
        let name = match name {
            Value::Str(text) => text.as_str().filter(|name| is_part_name(name)),
            _ => None,
        };
        let Some(name) = name else {
            return Err(wrong("a part's name is not a letter followed by letters, digits or _, 40 at most".to_owned()));
        };
        match value {
            Value::Float(value) if value.is_finite() && value.abs() <= MAX_PART => {
                parts.insert(name.to_owned(), *value)
            }
            Value::Float(value) => {
                return Err(wrong(format!("its part `{name}` is {value}: -{MAX_PART} to {MAX_PART} is valid")));
            }
            _ => return Err(Failed::protocol("it sent a part that is no float")),
        };
    }
    Ok(parts)
}
