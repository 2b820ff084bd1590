//! Answers to problems.

use lyceum_core::verify::{CodePair, Solution, Status, Verdict};

use super::propose::excerpt;
use super::{Bench, incorrect};
use crate::execution::{
    Arguments, Failed, MAX_TEXT, MAX_VALUE, Outcome, Program, Request, execute, execute_one, single,
};
use crate::literal;
use crate::literal::{parse_arguments, parse_literal};
use crate::program::check_arguments;
use crate::sandbox::{Limits, SandboxError, Zygote};
use crate::value::{Comparison, Value};

impl Bench<'_> {
    pub(super) fn solve(&mut self, solution: &Solution) -> Result<Verdict, SandboxError> {
        match solution {
            Solution::Output { program, input, answer } => self.solve_output(program, input, answer),
            Solution::Input { program, output, answer } => self.solve_input(program, output, answer),
            Solution::Function { pairs, answer } => self.solve_function(pairs, answer),
        }
    }

    /// The answer never meets the program: the program's own value is computed (once for all answers) and compared
    /// here.
    fn solve_output(&mut self, program: &str, input: &str, answer: &str) -> Result<Verdict, SandboxError> {
        let answer = match value_of("answer", answer) {
            Ok(answer) => answer,
            Err(failed) => return Ok(incorrect(failed)),
        };
        let limits = self.slot.limits();
        let outcome = match self.gold.get(program, input, limits.cpu) {
            Some(value) => Outcome::Value(value),
            None => match input_arguments(self.slot.first()?, limits, input)? {
                Ok(call) => self.call_f(program, input, call)?,
                Err(failed) => return Ok(incorrect(failed)),
            },
        };
        Ok(compared(self.comparison, &outcome, &answer))
    }

    fn solve_input(&mut self, program: &str, output: &str, answer: &str) -> Result<Verdict, SandboxError> {
        let output = match value_of("output", output) {
            Ok(output) => output,
            Err(failed) => return Ok(incorrect(failed)),
        };
        let limits = self.slot.limits();
        let answer = match evaluate(|| self.slot.first(), limits, answer)? {
            Ok(answer) => answer,
            Err(failed) => {
                let reason = match failed.status {
                    Status::Malformed => format!("the answer is {}", failed.reason),
                    _ => format!("evaluating the answer: {}", failed.reason),
                };
                return Ok(incorrect(Failed { reason, ..failed }));
            }
        };
        // Many answers to one problem are the same input.
        let input = answer.to_source();
        let outcome = match self.gold.get(program, &input, limits.cpu) {
            Some(value) => Outcome::Value(value),
            None => self.call_f(program, &input, Arguments::Literal(input.clone()))?,
        };
        Ok(compared(self.comparison, &outcome, &output))
    }

    /// Calls the program and keeps what it returns as its output for `input`.
    fn call_f(&mut self, program: &str, input: &str, call: Arguments) -> Result<Outcome, SandboxError> {
        let limits = self.slot.limits();
        let outcome = execute_one(self.slot.first()?, limits, Program::f(program), call)?;
        if let Outcome::Value(value) = &outcome {
            self.gold.put(program, input, limits.cpu, value);
        }
        Ok(outcome)
    }

    fn solve_function(&mut self, pairs: &[CodePair], answer: &str) -> Result<Verdict, SandboxError> {
        let total = pairs.len();
        let counted = |verdict: Verdict, passed: usize| Verdict {
            correct: Some(passed == total && total > 0),
            passed: Some(passed),
            total: Some(total),
            ..verdict
        };
        let mut calls = Vec::with_capacity(total);
        if total == 0 {
            let failed = Failed::new(Status::Malformed, "there are no pairs");
            return Ok(counted(incorrect(failed), 0));
        }
        let limits = self.slot.limits();
        for (at, (input, output)) in pairs.iter().enumerate() {
            let call = input_arguments(self.slot.first()?, limits, input)?;
            match call.and_then(|call| value_of("output", output).map(|_| call)) {
                Ok(call) => calls.push(call),
                Err(failed) => {
                    let reason = format!("pair {at}: {}", failed.reason);
                    return Ok(counted(incorrect(Failed { reason, ..failed }), 0));
                }
            }
        }
        let comparison = self.comparison;
        let judge = |at: usize, outcome: Outcome, _| match value_of("output", &pairs[at].1) {
            Ok(expected) => compared(comparison, &outcome, &expected),
            Err(failed) => incorrect(failed),
        };
        let verdicts = execute(self.slot.first()?, limits, Program::f(answer), &calls, judge)?;
        let mut passed = 0;
        let mut first_failure: Option<(Status, String)> = None;
        for (at, verdict) in verdicts.into_iter().enumerate() {
            if verdict.correct == Some(true) {
                passed += 1;
            } else if first_failure
                .as_ref()
                .is_none_or(|(status, _)| *status == Status::Ok && verdict.status != Status::Ok)
            {
                first_failure = Some((verdict.status, format!("pair {at}: {}", verdict.reason)));
            }
        }
        let (status, reason) = first_failure.unwrap_or((Status::Ok, String::new()));
        Ok(counted(Verdict::bare(None, status, reason), passed))
    }
}

/// The value of the literal that is the answer or the output.
fn value_of(name: &str, text: &str) -> Result<Value, Failed> {
    let malformed = |reason: String| Failed::new(Status::Malformed, format!("the {name} {reason}"));
    if text.len() > MAX_TEXT {
        return Err(malformed(format!("has {} bytes; at most {MAX_TEXT} are read", text.len())));
    }
    parse_literal(text).map_err(|error| malformed(format!("is {error}")))
}

fn compared(comparison: Comparison, outcome: &Outcome, expected: &Value) -> Verdict {
    match outcome {
        Outcome::Failed(failed) => incorrect(failed.clone()),
        Outcome::Large(_) => incorrect(Failed::new(Status::Unserialisable, "its value is too large")),
        Outcome::Value(value) => {
            let correct = comparison.equal(value, expected);
            let reason = if correct {
                String::new()
            } else {
                format!("the program gives {}, not {}", excerpt(value), excerpt(expected))
            };
            Verdict { correct: Some(correct), ..Verdict::bare(None, Status::Ok, reason) }
        }
    }
}

/// Evaluates a list of arguments: literals here, anything else in a process that holds no program, so that the arguments
/// and the program never meet. `zygote` is asked for only then.
pub(super) fn evaluate<'z>(
    zygote: impl FnOnce() -> Result<&'z Zygote, SandboxError>,
    limits: Limits,
    text: &str,
) -> Result<Result<literal::Arguments, Failed>, SandboxError> {
    if text.len() > MAX_TEXT {
        let reason = format!("too long: it has {} bytes; at most {MAX_TEXT} are read", text.len());
        return Ok(Err(Failed::new(Status::Malformed, reason)));
    }
    let not_literal = match parse_arguments(text) {
        Ok(arguments) => return Ok(Ok(arguments)),
        Err(error) => error,
    };
    if check_arguments(text).is_err() {
        return Ok(Err(Failed::new(Status::Malformed, not_literal.to_string())));
    }
    let request = Request::Evaluate { arguments: text, max_bytes: MAX_VALUE };
    Ok(match single(zygote()?, limits, &request)? {
        Outcome::Value(value) => arguments_of(value).ok_or_else(|| Failed::protocol("it gave no arguments")),
        Outcome::Large(_) => Err(Failed::protocol("it gave no arguments")),
        Outcome::Failed(failed) => Err(match failed.status {
            Status::Malformed | Status::Unserialisable => Failed {
                status: Status::Malformed,
                reason: format!("{not_literal}, and it has no values by itself: {}", failed.reason),
                ..failed
            },
            _ => failed,
        }),
    })
}

/// The arguments in what `capture` in `child.py` returned.
fn arguments_of(value: Value) -> Option<literal::Arguments> {
    let Value::Tuple(parts) = value else { return None };
    let [Value::Tuple(positional), Value::Dict(keyword)]: [Value; 2] = parts.try_into().ok()? else { return None };
    let named = |(name, value)| match name {
        Value::Str(name) => Some((name, value)),
        _ => None,
    };
    Some(literal::Arguments { positional, keyword: keyword.into_iter().map(named).collect::<Option<_>>()? })
}

/// The arguments of a problem's input. Those that are not data, such as instances of the program's own classes, are
/// evaluated in the program's namespace.
pub(super) fn input_arguments(
    zygote: &Zygote,
    limits: Limits,
    text: &str,
) -> Result<Result<Arguments, Failed>, SandboxError> {
    if let Err(reason) = check_arguments(text) {
        return Ok(Err(Failed::new(Status::Malformed, reason)));
    }
    Ok(match evaluate(|| Ok(zygote), limits, text)? {
        Ok(arguments) => Ok(Arguments::Literal(arguments.to_source())),
        Err(failed) if failed.status == Status::Malformed => Ok(Arguments::Expression(text.to_owned())),
        Err(failed) => Err(failed),
    })
}
