//! Answers to problems.

use lyceum_core::verify::{CodePair, Solution, Status, Verdict};

use super::propose::excerpt;
use super::{Bench, incorrect};
use crate::execution::{Arguments, Failed, Outcome, Program, execute};
use crate::literal::{parse_arguments, parse_literal};
use crate::program::check_arguments;
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
        if let Err(reason) = check_arguments(input) {
            return Ok(incorrect(Failed::new(Status::Malformed, reason)));
        }
        let outcome = match self.gold.get(program, input) {
            Some(value) => Outcome::Value(value),
            None => {
                let call = Arguments::Expression(input.to_owned());
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
        let answer = match parse_arguments(answer) {
            Ok(answer) => answer,
            Err(error) => return malformed(format!("the answer is {error}")),
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
        for (at, (input, output)) in pairs.iter().enumerate() {
            let output = parse_literal(output).map_err(|error| format!("the output is {error}"));
            match check_arguments(input).and(output) {
                Ok(output) => expected.push(output),
                Err(reason) => {
                    let reason = format!("pair {at}: {reason}");
                    return Ok(counted(incorrect(Failed::new(Status::Malformed, reason)), 0));
                }
            }
            calls.push(Arguments::Expression(input.clone()));
        }
        if total == 0 {
            return Ok(counted(
                incorrect(Failed::new(Status::Malformed, "there are no pairs")),
                0,
            ));
        }
        let limits = self.slot.limits();
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
