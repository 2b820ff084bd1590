//! Tests by pairs: standard input and expected output, or arguments and results as JSON.

use lyceum_core::verify::{CodePair, Status};

use super::Results;
use crate::execution::{Arguments, Failed, Outcome, Program, execute, printed};
use crate::judge::Bench;
use crate::judge::propose::excerpt;
use crate::sandbox::SandboxError;
use crate::value::{Comparison, Value};

/// After this many timeouts, the remaining tests of a program that reads standard input count as failed.
const MAX_TIMEOUTS: usize = 3;

impl Bench<'_> {
    /// With an entry point, LiveCodeBench's functional form; without one, standard input and output.
    pub(super) fn test_by_pairs(
        &mut self,
        program: &str,
        entry_point: Option<&str>,
        pairs: &[CodePair],
        preamble: &str,
    ) -> Result<Result<Results, Failed>, SandboxError> {
        let program = format!("{preamble}{program}");
        match entry_point {
            Some(entry_point) => self.test_function(&program, entry_point, pairs),
            None => Ok(Ok(self.test_standard_streams(&program, pairs)?)),
        }
    }

    fn test_function(
        &mut self,
        program: &str,
        entry_point: &str,
        pairs: &[CodePair],
    ) -> Result<Result<Results, Failed>, SandboxError> {
        let mut calls = Vec::with_capacity(pairs.len());
        for (at, (input, output)) in pairs.iter().enumerate() {
            let arguments: Result<Vec<_>, _> =
                input.lines().filter(|line| !line.trim().is_empty()).map(Value::from_json).collect();
            match arguments.and_then(|arguments| Ok((arguments, Value::from_json(output)?))) {
                Ok((arguments, _)) => {
                    let sources: Vec<_> = arguments.iter().map(Value::to_source).collect();
                    calls.push(Arguments::Literal(sources.join(",")));
                }
                Err(reason) => return Ok(Err(Failed::new(Status::Malformed, format!("pair {at}: {reason}")))),
            }
        }
        let limits = self.slot.limits().for_tests();
        let program = Program { top_tuple_as_list: true, ..Program::under_test(program, entry_point) };
        let judge = |at: usize, outcome: Outcome, _| {
            let value = match outcome {
                Outcome::Value(value) => value,
                Outcome::Failed(failed) => return Err(failed),
                Outcome::Large(_) => {
                    return Err(Failed::new(Status::Unserialisable, "it gives a value that is too large"));
                }
            };
            // Read once before, but kept as text: many values may be large.
            let expected = Value::from_json(&pairs[at].1).map_err(|reason| Failed::new(Status::Malformed, reason))?;
            if Comparison::Python.equal(&value, &expected) {
                return Ok(());
            }
            let reason = format!("it gives {}, not {}", excerpt(&value), excerpt(&expected));
            Err(Failed::new(Status::Ok, reason))
        };
        Ok(Ok(execute(self.slot.first()?, limits, program, &calls, judge)?))
    }

    fn test_standard_streams(&mut self, program: &str, pairs: &[CodePair]) -> Result<Results, SandboxError> {
        let limits = self.slot.limits().for_tests();
        let zygote = self.slot.first()?;
        let mut timeouts = 0;
        let mut results: Results = Vec::with_capacity(pairs.len());
        for (stdin, expected) in pairs {
            if timeouts == MAX_TIMEOUTS {
                results.push(Err(Failed::new(Status::Timeout, "not run, because earlier tests took too long")));
                continue;
            }
            let result = printed(zygote, limits, program, stdin)?.and_then(|printed| {
                let printed = String::from_utf8_lossy(&printed);
                if is_same_output(&printed, expected) {
                    return Ok(());
                }
                let shown = excerpt(&Value::Str(printed.as_ref().into()));
                Err(Failed::new(Status::Ok, format!("it prints {shown}")))
            });
            timeouts += usize::from(matches!(&result, Err(failed) if failed.status == Status::Timeout));
            results.push(result);
        }
        Ok(results)
    }
}

/// LiveCodeBench's rule: the same number of lines, each with either the same text or the same decimal numbers.
fn is_same_output(printed: &str, expected: &str) -> bool {
    let lines = |text: &'_ str| text.trim().lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let (printed, expected) = (lines(printed), lines(expected));
    printed.len() == expected.len() && printed.iter().zip(&expected).all(|(a, b)| a == b || is_same_decimals(a, b))
}

fn is_same_decimals(left: &str, right: &str) -> bool {
    let decimals = |line: &str| line.split_whitespace().map(decimal).collect::<Option<Vec<_>>>();
    matches!((decimals(left), decimals(right)), (Some(a), Some(b)) if a == b)
}

/// A decimal number as sign, digits without leading or trailing zeros, and exponent, so that equal numbers compare
/// equal.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (text, is_negative) = match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_end_matches('0');
    let zeros = (digits.len() - significant.len()) as i64;
    let significant = significant.trim_start_matches('0').to_owned();
    if significant.is_empty() {
        return Some((false, significant, 0));
    }
    Some((is_negative, significant, i64::from(exponent) - fraction.len() as i64 + zeros))
}

#[cfg(test)]
mod tests {
    use super::is_same_output;

    #[test]
    fn lines_are_the_same_or_the_same_numbers() {
        assert!(is_same_output("1 2\n3\n", "1 2 \n 3"));
        assert!(is_same_output("1.50 -0", "1.5 0.0"));
        assert!(is_same_output("100", "1e2"));
        assert!(!is_same_output("1.5000001", "1.5"));
        assert!(!is_same_output("yes", "Yes"));
        assert!(!is_same_output("1\n2", "1 2"));
        assert!(!is_same_output("", "0"));
    }
}
