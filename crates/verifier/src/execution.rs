//! Running a program on inputs: what it returned, or how it failed.

use serde::Serialize;

use lyceum_core::verify::Status;

use crate::sandbox::{Answer, Ending, Limits, Report, Run, SandboxError, Zygote};
use crate::value::{Value, decode};

/// What came of one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It returned this value.
    Value(Value),
    /// It returned a value that is too large to leave the sandbox, of which this is a digest.
    Large(Vec<u8>),
    /// It did not.
    Failed(Failed),
}

/// Why a call gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) status: Status,
    pub(crate) reason: String,
    /// The exception's class, if one was raised.
    pub(crate) exception: Option<String>,
}

impl Failed {
    pub(crate) fn new(status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
            exception: None,
        }
    }

    /// The child said what it may not say.
    pub(crate) fn protocol(violation: &str) -> Self {
        Self::new(
            Status::Error,
            format!("it broke the protocol of the sandbox: {violation}"),
        )
    }

    /// How a process ended that should have answered.
    pub(crate) fn of_ending(report: Report, limits: Limits) -> Self {
        match report.ending {
            Ending::CpuTime => Self::new(
                Status::Timeout,
                format!("it used more than {} s of CPU time", limits.cpu.as_secs_f64()),
            ),
            Ending::WallTime => Self::new(
                Status::Timeout,
                format!(
                    "it was not done after {} s, and waited rather than worked",
                    limits.wall.as_secs_f64()
                ),
            ),
            Ending::Signalled(libc::SIGKILL) => Self::new(Status::Memory, "it was killed for its memory"),
            Ending::Signalled(signal) => Self::new(Status::Error, format!("its process died of signal {signal}")),
            Ending::Exited(0) => Self::new(Status::Error, "it ended its process before it returned a value"),
            Ending::Exited(code) => Self::new(Status::Error, format!("its process ended with code {code}")),
            Ending::Stopped => Self::new(Status::Error, "it broke the protocol of the sandbox"),
        }
    }
}

/// The arguments of a call, as Python source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// Written by a model or a data set: evaluated among the program's names.
    Expression(String),
    /// Written by this crate from values: evaluated apart from the program's names.
    Literal(String),
}

/// The largest value of a problem.
pub(crate) const MAX_VALUE: usize = 1 << 20;

/// The largest value of a program under test that is compared as a value.
pub(crate) const MAX_TESTED_VALUE: usize = 4 << 20;

/// A program and how to call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    pub(crate) source: &'a str,
    pub(crate) entry_point: &'a str,
    /// Whether subclasses of dict from the standard library count as dict, as they do for `==`.
    pub(crate) lenient: bool,
    /// How large a value may be, as bytes of its encoding.
    pub(crate) max_bytes: usize,
    /// Whether a tuple that the function returns becomes a list (LiveCodeBench).
    pub(crate) top_tuple_as_list: bool,
}

impl<'a> Program<'a> {
    /// A program whose function is called `f`.
    pub(crate) fn f(source: &'a str) -> Self {
        Self {
            source,
            entry_point: "f",
            lenient: false,
            max_bytes: MAX_VALUE,
            top_tuple_as_list: false,
        }
    }

    /// A program under test. Values too large to leave come as a digest.
    pub(crate) fn under_test(source: &'a str, entry_point: &'a str) -> Self {
        Self {
            source,
            entry_point,
            lenient: true,
            max_bytes: MAX_TESTED_VALUE,
            top_tuple_as_list: false,
        }
    }
}

/// A request to a child.
#[derive(Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(crate) enum Request<'a> {
    Load {
        program: &'a str,
        lenient: bool,
        max_bytes: usize,
    },
    Call {
        arguments: &'a str,
        literal: bool,
        entry_point: &'a str,
        top_tuple_as_list: bool,
    },
    Stdio {
        program: &'a str,
        stdin: &'a str,
        max_bytes: usize,
    },
    Math {
        gold: &'a str,
        answer: &'a str,
    },
}

impl<'a> Request<'a> {
    pub(crate) fn load(program: Program<'a>) -> Self {
        Self::Load {
            program: program.source,
            lenient: program.lenient,
            max_bytes: program.max_bytes,
        }
    }

    pub(crate) fn call(program: Program<'a>, entry_point: &'a str, arguments: &'a Arguments) -> Self {
        let (arguments, literal) = match arguments {
            Arguments::Expression(source) => (source, false),
            Arguments::Literal(source) => (source, true),
        };
        Self::Call {
            arguments,
            literal,
            entry_point,
            top_tuple_as_list: program.top_tuple_as_list,
        }
    }
}

/// Reads one answer.
pub(crate) fn outcome(answer: &Answer) -> Outcome {
    let failed = match answer.kind {
        b'V' => match decode(&answer.data) {
            Ok(value) => return Outcome::Value(value),
            Err(error) => Failed::new(Status::Error, format!("its answer cannot be read: {error}")),
        },
        b'D' if answer.data.len() == 32 => return Outcome::Large(answer.data.clone()),
        b'U' => Failed::new(Status::Unserialisable, String::from_utf8_lossy(&answer.data)),
        kind => {
            let text = String::from_utf8_lossy(&answer.data);
            let (class, message) = text.split_once('\0').unwrap_or((&text, ""));
            let said = if message.is_empty() {
                class.to_owned()
            } else {
                format!("{class}: {message}")
            };
            let (status, reason) = match kind {
                b'M' => (Status::Malformed, format!("the program does not compile: {said}")),
                b'I' => (Status::Malformed, format!("the input cannot be evaluated: {said}")),
                b'X' if class == "MemoryError" => (Status::Memory, "it reached its memory limit".to_owned()),
                b'X' => (Status::Error, format!("it raised {said}")),
                _ => (Status::Error, "its answer is of no known kind".to_owned()),
            };
            Failed {
                status,
                reason,
                exception: Some(class.to_owned()),
            }
        }
    };
    Outcome::Failed(failed)
}

/// Sends one request to a child of its own.
pub(crate) fn single(zygote: &Zygote, limits: Limits, request: &Request<'_>) -> Result<Outcome, SandboxError> {
    let mut run = Run::begin(zygote, limits, 1)?;
    run.send(request)?;
    run.complete();
    let answer = run.answer()?;
    let (report, violation) = run.finish()?;
    Ok(match (violation, answer) {
        (Some(violation), _) => Outcome::Failed(Failed::protocol(violation)),
        (None, Some(answer)) if report.ending == Ending::Exited(0) => outcome(&answer),
        (None, _) => Outcome::Failed(Failed::of_ending(report, limits)),
    })
}

/// After this many deaths of a process, the remaining calls of a batch count as failed without being run.
const MAX_DEATHS: usize = 3;

/// Calls a program once for each of the arguments, all in one process; one outcome for each.
///
/// A call that raises voids nothing but itself. A call in which the process dies voids what that process would have
/// done next, so the remaining calls get a new one.
pub(crate) fn execute(
    zygote: &Zygote,
    limits: Limits,
    program: Program<'_>,
    calls: &[Arguments],
) -> Result<Vec<Outcome>, SandboxError> {
    let mut outcomes = Vec::with_capacity(calls.len());
    for _ in 0..MAX_DEATHS {
        let rest = &calls[outcomes.len()..];
        if rest.is_empty() {
            break;
        }
        let is_over = execute_once(zygote, limits, program, rest, &mut outcomes)?;
        if is_over {
            break;
        }
    }
    if let Some(Outcome::Failed(last)) = outcomes.last().cloned() {
        let skipped = Failed {
            reason: format!("not run, because an earlier call failed: {}", last.reason),
            ..last
        };
        outcomes.resize(calls.len(), Outcome::Failed(skipped));
    }
    Ok(outcomes)
}

/// Appends the outcomes that one process gave, the last of which may be its death. True if no further process would help.
fn execute_once(
    zygote: &Zygote,
    limits: Limits,
    program: Program<'_>,
    calls: &[Arguments],
    outcomes: &mut Vec<Outcome>,
) -> Result<bool, SandboxError> {
    let before = outcomes.len();
    let mut run = Run::begin(zygote, limits, calls.len())?;
    run.send(&Request::load(program))?;
    for arguments in calls {
        run.send(&Request::call(program, program.entry_point, arguments))?;
    }
    run.complete();
    let mut is_over = false;
    while outcomes.len() - before < calls.len() {
        let Some(answer) = run.answer()? else { break };
        is_over = answer.kind == b'M';
        outcomes.push(outcome(&answer));
        if is_over {
            break;
        }
    }
    let (report, violation) = run.finish()?;
    if let Some(violation) = violation {
        outcomes.truncate(before);
        outcomes.push(Outcome::Failed(Failed::protocol(violation)));
        return Ok(true);
    }
    let answered = outcomes.len() - before;
    if report.ending != Ending::Exited(0) {
        // A process that answered everything and then did not end well is not believed in its last word.
        if answered == calls.len() {
            outcomes.pop();
        }
        outcomes.push(Outcome::Failed(Failed::of_ending(report, limits)));
    } else if answered < calls.len() && !is_over {
        // A program that raises while it is loaded answers once and ends.
        match outcomes.last() {
            Some(Outcome::Failed(_)) if answered > 0 => return Ok(true),
            _ => outcomes.push(Outcome::Failed(Failed::of_ending(report, limits))),
        }
    }
    Ok(is_over)
}
