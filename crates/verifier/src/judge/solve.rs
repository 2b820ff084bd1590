//! Answers to problems.

use lyceum_core::verify::{CodePair, Solution, Status, Verdict};

use super::arguments::{evaluate, input_arguments};
use super::propose::excerpt;
use super::{Bench, incorrect};
use crate::execution::{Arguments, Failed, Outcome, Program, execute};
use crate::literal::parse_literal;
use crate::sandbox::SandboxError;
use crate::value::Value;

impl Bench<'_> {
    pub(super) fn solve(&mut self, solution: &Solution) -> Result<Verdict, SandboxError> {
        match solution {
            Solution::Output { program, input, answer } => self.solve_output(program, input, answer),
            Solution::Input {
                program,
                output,
                answer,
            } => self.solve_input(program, output, answer),
            Solution::Function { pairs, answer } => self.solve_function(pairs, answer),
        }
    }

    /// The answer never meets the program: the program's own value is computed (once for all answers) and compared
    /// here.
    fn solve_output(&mut self, program: &str, input: &str, answer: &str) -> Result<Verdict, SandboxError> {
        let answer = match parse_literal(answer) {
            Ok(answer) => answer,
            Err(error) => {
                return Ok(incorrect(Failed::new(
                    Status::Malformed,
                    format!("the answer is {error}"),
                )));
            }
        };
        let outcome = match self.gold.get(program, input) {
            Some(value) => Outcome::Value(value),
            None => {
                let limits = self.slot.limits();
                let call = match input_arguments(self.slot.first()?, limits, input)? {
                    Ok(call) => call,
                    Err(failed) => return Ok(incorrect(failed)),
                };
                let outcome = self.call_f(program, call)?;
                if let Outcome::Value(value) = &outcome {
                    self.gold.put(program, input, value);
                }
                outcome
            }
        };
        Ok(self.compared(&outcome, &answer))
    }

    fn solve_input(&mut self, program: &str, output: &str, answer: &str) -> Result<Verdict, SandboxError> {
        let malformed = |reason: String| Ok(incorrect(Failed::new(Status::Malformed, reason)));
        let output = match parse_literal(output) {
            Ok(output) => output,
            Err(error) => return malformed(format!("the output is {error}")),
        };
        let limits = self.slot.limits();
        let answer = match evaluate(self.slot.first()?, limits, answer)? {
            Ok(answer) => answer,
            Err(failed) => {
                let reason = match failed.status {
                    Status::Malformed => format!("the answer is {}", failed.reason),
                    _ => format!("evaluating the answer: {}", failed.reason),
                };
                return Ok(incorrect(Failed { reason, ..failed }));
            }
        };
        let outcome = self.call_f(program, Arguments::Literal(answer.to_source()))?;
        Ok(self.compared(&outcome, &output))
    }

    fn call_f(&mut self, program: &str, call: Arguments) -> Result<Outcome, SandboxError> {
        let limits = self.slot.limits();
        let outcome = execute(self.slot.first()?, limits, Program::f(program), &[call])?.pop();
        Ok(outcome.unwrap_or_else(|| Outcome::Failed(Failed::new(Status::Error, "it was not run"))))
    }

    fn compared(&self, outcome: &Outcome, expected: &Value) -> Verdict {
        match outcome {
            Outcome::Failed(failed) => incorrect(failed.clone()),
            Outcome::Large(_) => incorrect(Failed::new(Status::Unserialisable, "its value is too large")),
            Outcome::Value(value) => {
                let correct = self.comparison.equal(value, expected);
                let reason = if correct {
                    String::new()
                } else {
                    format!("the program gives {}, not {}", excerpt(value), excerpt(expected))
                };
                Verdict {
                    correct: Some(correct),
                    ..Verdict::bare(None, Status::Ok, reason)
                }
            }
        }
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
        let mut expected = Vec::with_capacity(total);
        if total == 0 {
            let failed = Failed::new(Status::Malformed, "there are no pairs");
            return Ok(counted(incorrect(failed), 0));
        }
        let limits = self.slot.limits();
        for (at, (input, output)) in pairs.iter().enumerate() {
            let output = parse_literal(output)
                .map_err(|error| Failed::new(Status::Malformed, format!("the output is {error}")));
            let call = input_arguments(self.slot.first()?, limits, input)?;
            match call.and_then(|call| Ok((call, output?))) {
                Ok((call, output)) => {
                    calls.push(call);
                    expected.push(output);
                }
                Err(failed) => {
                    let reason = format!("pair {at}: {}", failed.reason);
                    return Ok(counted(incorrect(Failed { reason, ..failed }), 0));
                }
            }
        }
        let outcomes = execute(self.slot.first()?, limits, Program::f(answer), &calls)?;
        let mut passed = 0;
        let mut first_failure: Option<(Status, String)> = None;
        for (at, (outcome, expected)) in outcomes.iter().zip(&expected).enumerate() {
            let verdict = self.compared(outcome, expected);
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
