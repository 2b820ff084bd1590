//! Runs a program on inputs: the values it returned, or how it failed.

mod outcome;
mod request;

pub(crate) use outcome::{Failed, Kept, Outcome, lacking, outcome};
pub(crate) use request::{Arguments, MAX_TESTED_VALUE, MAX_TEXT, MAX_VALUE, Program, Request};

use lyceum_core::verify::Status;

use crate::sandbox::{Ending, Limits, PRINTED_TOO_MUCH, Run, SandboxError, Zygote};

/// Sends one request to a fresh child.
pub(crate) fn single(zygote: &Zygote, limits: Limits, request: &Request<'_>) -> Result<Outcome, SandboxError> {
    let mut run = Run::begin(zygote, limits, 1, request.max_value())?;
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

/// A process of trusted code that answers requests one by one. After a failure the next request gets a new process.
pub(crate) struct Conversation<'z> {
    zygote: &'z Zygote,
    limits: Limits,
    run: Option<Run<'z>>,
}

impl<'z> Conversation<'z> {
    pub(crate) fn new(zygote: &'z Zygote, limits: Limits) -> Self {
        let run = None;
        Self { zygote, limits, run }
    }

    /// The answer to a request, which may use the full limits within the budget of the task.
    pub(crate) fn ask(&mut self, request: &Request<'_>) -> Result<Outcome, SandboxError> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => Run::begin(self.zygote, self.limits, usize::MAX, request.max_value())?,
        };
        run.send(request)?;
        let Some(answer) = run.answer()? else {
            let (report, violation) = run.finish()?;
            return Ok(Outcome::Failed(match violation {
                Some(violation) => Failed::protocol(violation),
                None => Failed::of_ending(report, self.limits),
            }));
        };
        let outcome = outcome(&answer);
        match outcome {
            Outcome::Failed(_) => drop(run),
            _ => self.run = Some(run),
        }
        Ok(outcome)
    }

    /// Ends the process. A failure voids what it answered.
    pub(crate) fn end(self) -> Result<Result<(), Failed>, SandboxError> {
        let Some(run) = self.run else { return Ok(Ok(())) };
        let (report, violation) = run.finish()?;
        Ok(match (violation, report.ending) {
            (Some(violation), _) => Err(Failed::protocol(violation)),
            (None, Ending::Exited(0)) => Ok(()),
            (None, _) => Err(Failed::of_ending(report, self.limits)),
        })
    }
}

/// Runs a program that reads standard input. Returns what it printed.
pub(crate) fn printed(
    zygote: &Zygote,
    limits: Limits,
    program: &str,
    stdin: &str,
) -> Result<Result<Vec<u8>, Failed>, SandboxError> {
    let (printed, failed) = ran(zygote, limits, program, stdin)?;
    Ok(failed.map_or(Ok(printed), Err))
}

/// The same for one that may fail: what it printed before, and how it failed.
pub(crate) fn ran(
    zygote: &Zygote,
    limits: Limits,
    program: &str,
    stdin: &str,
) -> Result<(Vec<u8>, Option<Failed>), SandboxError> {
    let mut run = Run::begin_with_streams(zygote, limits, stdin, MAX_TESTED_VALUE)?;
    run.send(&Request::Stdio { program })?;
    run.complete();
    let answer = run.answer()?;
    let (report, violation, printed) = run.finish_printed()?;
    let failed = match (violation, answer) {
        (Some(PRINTED_TOO_MUCH), _) => {
            let most = MAX_TESTED_VALUE >> 20;
            Some(Failed::new(Status::Unserialisable, format!("it prints more than {most} MiB")))
        }
        (Some(violation), _) if matches!(report.ending, Ending::Exited(0) | Ending::Stopped) => {
            Some(Failed::protocol(violation))
        }
        // It may end its process itself, but sends nothing else than an exception.
        (_, Some(answer)) => Some(match outcome(&answer) {
            Outcome::Failed(failed) => failed,
            Outcome::Value(_) | Outcome::Large(_) => Failed::protocol("it sent a value"),
        }),
        (_, None) if report.ending == Ending::Exited(0) => None,
        (_, None) => Some(Failed::of_ending(report, limits)),
    };
    Ok((printed, failed))
}

/// After this many deaths of the process, the remaining calls of a batch count as failed without being run.
const MAX_DEATHS: usize = 3;

/// Calls a program once for each list of arguments, all in one process. Returns what `judge` makes of each call's number,
/// outcome and encoded value, so that only one value is in memory at a time.
///
/// An exception fails only its own call. If the process dies in a call, the remaining calls get a new process, unless it
/// used up its CPU time and the program says that this ends the batch.
pub(crate) fn execute<T>(
    zygote: &Zygote,
    limits: Limits,
    program: Program<'_>,
    calls: &[Arguments],
    judge: impl FnMut(usize, Outcome, Vec<u8>) -> T,
) -> Result<Vec<T>, SandboxError> {
    let mut batch = Batch { judged: Vec::with_capacity(calls.len()), failed: None, judge };
    for _ in 0..MAX_DEATHS {
        let rest = &calls[batch.judged.len()..];
        if rest.is_empty() {
            break;
        }
        let is_over = execute_once(zygote, limits, program, rest, &mut batch)?;
        if is_over {
            break;
        }
    }
    if let Some(last) = batch.failed.clone() {
        while batch.judged.len() < calls.len() {
            batch.fail(Failed {
                reason: format!("not run, because an earlier call failed: {}", last.reason),
                ..last.clone()
            });
        }
    }
    Ok(batch.judged)
}

/// Calls a program once.
pub(crate) fn execute_one(
    zygote: &Zygote,
    limits: Limits,
    program: Program<'_>,
    call: Arguments,
) -> Result<Outcome, SandboxError> {
    let outcome = execute(zygote, limits, program, &[call], |_, outcome, _| outcome)?.pop();
    Ok(outcome.unwrap_or_else(|| Outcome::Failed(Failed::new(Status::Error, "it was not run"))))
}

/// The judged calls of a batch.
struct Batch<T, J> {
    judged: Vec<T>,
    /// The failure of the last call, if it failed.
    failed: Option<Failed>,
    judge: J,
}

impl<T, J: FnMut(usize, Outcome, Vec<u8>) -> T> Batch<T, J> {
    fn push(&mut self, outcome: Outcome, encoded: Vec<u8>) {
        self.failed = match &outcome {
            Outcome::Failed(failed) => Some(failed.clone()),
            _ => None,
        };
        let judged = (self.judge)(self.judged.len(), outcome, encoded);
        self.judged.push(judged);
    }

    fn fail(&mut self, failed: Failed) {
        self.push(Outcome::Failed(failed), Vec::new());
    }
}

/// Appends the outcomes of one process, the last of which may be its death. Returns true if another process would not
/// help.
fn execute_once<T, J: FnMut(usize, Outcome, Vec<u8>) -> T>(
    zygote: &Zygote,
    limits: Limits,
    program: Program<'_>,
    calls: &[Arguments],
    batch: &mut Batch<T, J>,
) -> Result<bool, SandboxError> {
    let before = batch.judged.len();
    let mut run = Run::begin(zygote, limits, calls.len(), program.max_bytes)?;
    run.send(&Request::load(program))?;
    for arguments in calls {
        run.send(&Request::call(program, program.entry_point, arguments))?;
    }
    run.complete();
    let mut is_over = false;
    while batch.judged.len() - before < calls.len() {
        let Some(answer) = run.answer()? else { break };
        is_over = answer.kind == b'M';
        batch.push(outcome(&answer), answer.data);
        if is_over {
            break;
        }
    }
    let (report, violation) = run.finish()?;
    if let Some(violation) = violation {
        batch.judged.truncate(before);
        batch.fail(Failed::protocol(violation));
        return Ok(true);
    }
    let answered = batch.judged.len() - before;
    if report.ending != Ending::Exited(0) {
        // If the process answered every call but ended badly, its last answer is not trusted.
        if answered == calls.len() {
            batch.judged.pop();
        }
        batch.fail(Failed::of_ending(report, limits));
        is_over = program.ends_when_endless && report.ending == Ending::CpuTime;
    } else if answered < calls.len() && !is_over {
        // A program that raises while it is loaded answers once and ends.
        if answered > 0 && batch.failed.is_some() {
            return Ok(true);
        }
        batch.fail(Failed::of_ending(report, limits));
    }
    Ok(is_over)
}
