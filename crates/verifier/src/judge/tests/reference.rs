//! EvalPlus: runs the program and a reference on the same inputs and compares outputs with tolerances and special
//! oracles.
//!
//! The two run in different processes; their outputs are compared here.

use std::sync::Arc;

use lyceum_core::verify::{JsonText, Status};
use num_traits::ToPrimitive as _;

use super::Results;
use super::restore::restore;
use crate::execution::{Arguments, Failed, Kept, Outcome, Program, execute};
use crate::judge::Bench;
use crate::judge::propose::excerpt;
use crate::literal::parse_arguments;
use crate::sandbox::SandboxError;
use crate::value::Value;

impl Bench<'_> {
    pub(super) fn test_by_reference(
        &mut self,
        program: &str,
        entry_point: &str,
        inputs: &[JsonText],
        reference: &str,
        atol: f64,
        task_id: &str,
    ) -> Result<Result<Results, Failed>, SandboxError> {
        let mut calls = Vec::with_capacity(inputs.len());
        for (at, input) in inputs.iter().enumerate() {
            match arguments(input, task_id) {
                Ok(arguments) => calls.push(Arguments::Literal(call_source(&arguments))),
                Err(reason) => return Ok(Err(Failed::new(Status::Malformed, format!("input {at}: {reason}")))),
            }
        }
        let limits = self.slot.limits().for_tests();
        let zygote = self.slot.first()?;
        let expected = match self.gold.expected(reference, entry_point, &calls) {
            Some(expected) => expected,
            None => {
                let program = Program::under_test(reference, entry_point);
                let keep = |_, outcome, encoded| Kept::new(outcome, encoded);
                let expected = Arc::new(execute(zygote, limits.patient(), program, &calls, keep)?);
                self.gold.expect(reference, entry_point, &calls, &expected);
                expected
            }
        };
        let mut oracle = Oracle { entry_point, atol, suite: Suite::of(task_id) };
        let mut failed = expected.iter().filter_map(Kept::failed);
        if let Some(failed) = failed.find(|failed| !oracle.accepts_opaque(failed)) {
            let reason = format!("the reference program failed: {}", failed.reason);
            return Ok(Err(Failed::new(Status::Malformed, reason)));
        }
        let judge = |at: usize, given: Outcome, _| {
            let arguments = match oracle.reads_arguments() {
                true => arguments(&inputs[at], task_id).unwrap_or_default(),
                false => Vec::new(),
            };
            oracle.judge(&arguments, &expected[at].outcome(), &given)
        };
        let program = Program::under_test(program, entry_point);
        Ok(Ok(execute(zygote, limits, program, &calls, judge)?))
    }
}

fn arguments(input: &JsonText, task_id: &str) -> Result<Vec<Value>, String> {
    match Value::from_json(input.as_str())? {
        Value::List(arguments) => Ok(match task_id.strip_prefix("Mbpp/").and_then(|number| number.parse().ok()) {
            Some(number) => restore(number, arguments),
            None => arguments,
        }),
        Value::Str(text) => {
            let text = text.as_str().ok_or("it holds a surrogate")?.to_owned();
            let arguments = parse_arguments(&text).map_err(|error| error.to_string())?;
            if arguments.keyword.is_empty() { Ok(arguments.positional) } else { Err("keyword arguments".to_owned()) }
        }
        other => Err(format!("it is {}, neither a list of arguments nor a text", other.type_name())),
    }
}

fn call_source(arguments: &[Value]) -> String {
    arguments.iter().map(Value::to_source).collect::<Vec<_>>().join(",")
}

/// MBPP+ tasks in which order and repetition of elements do not count.
const SET_EQUALITY: &[&str] = &[
    "similar_elements",
    "find_char_long",
    "common_in_nested_lists",
    "extract_singly",
    "larg_nnum",
    "intersection_array",
    "find_dissimilar",
    "Diff",
];

/// MBPP+ tasks that return a match or None; only whether there is a match is compared.
const NOT_NONE: &[&str] = &["check_str", "text_match_three", "text_starta_endb"];

/// EvalPlus's relative tolerance, in addition to the absolute one.
const RTOL: f64 = 1e-7;

/// A suite with special oracles. Other tasks may have functions of the same names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Suite {
    HumanEval,
    Mbpp,
    Other,
}

impl Suite {
    fn of(task_id: &str) -> Self {
        match task_id.split_once('/') {
            Some(("HumanEval", _)) => Self::HumanEval,
            Some(("Mbpp", _)) => Self::Mbpp,
            _ => Self::Other,
        }
    }
}

/// The comparison rules of one task.
struct Oracle<'a> {
    entry_point: &'a str,
    /// Rises to 1e-6 at the first expected float and stays there, as in EvalPlus.
    atol: f64,
    suite: Suite,
}

impl Oracle<'_> {
    /// Whether only the presence of a value counts.
    fn asks_for_presence(&self) -> bool {
        self.suite == Suite::Mbpp && NOT_NONE.contains(&self.entry_point)
    }

    /// Whether a value that cannot leave the sandbox is acceptable.
    fn accepts_opaque(&self, failed: &Failed) -> bool {
        failed.status == Status::Unserialisable && self.asks_for_presence()
    }

    /// Whether the arguments decide which values are right.
    fn reads_arguments(&self) -> bool {
        match self.suite {
            Suite::HumanEval => self.entry_point == "find_zero",
            Suite::Mbpp => ["surface_Area", "digit_distance_nums"].contains(&self.entry_point),
            Suite::Other => false,
        }
    }

    fn judge(&mut self, arguments: &[Value], expected: &Outcome, given: &Outcome) -> Result<(), Failed> {
        if self.asks_for_presence() {
            return self.judge_presence(expected, given);
        }
        let (Outcome::Value(expected), Outcome::Value(given)) = (expected, given) else {
            return match given {
                Outcome::Failed(failed) => Err(failed.clone()),
                _ if given == expected => Ok(()),
                _ => Err(Failed::new(Status::Ok, "it gives another large value")),
            };
        };
        if self.suite == Suite::HumanEval && self.entry_point == "find_zero" {
            let value = polynomial(arguments, given).map(f64::abs);
            return if value.is_some_and(|value| value <= self.atol) { Ok(()) } else { Err(differs(given, expected)) };
        }
        let exact = match (self.suite, self.entry_point) {
            (Suite::Mbpp, "are_equivalent") => true,
            (Suite::Mbpp, "sum_div") => given == expected || *given == Value::from(0),
            (Suite::Mbpp, "surface_Area") => given == expected || self.is_surface_area(arguments, given),
            (Suite::Mbpp, "digit_distance_nums") => {
                given == expected || digit_distance(arguments).is_some_and(|value| *given == value)
            }
            (Suite::Mbpp, name) if SET_EQUALITY.contains(&name) => {
                as_set(given).zip(as_set(expected)).is_some_and(|(a, b)| a == b)
            }
            _ => given == expected,
        };
        if self.atol == 0.0 && is_floats(expected) {
            self.atol = 1e-6;
        }
        let equal = exact || (self.atol != 0.0 && self.is_close(given, expected));
        if equal { Ok(()) } else { Err(differs(given, expected)) }
    }

    fn judge_presence(&self, expected: &Outcome, given: &Outcome) -> Result<(), Failed> {
        let presence = |outcome: &Outcome| match outcome {
            Outcome::Value(Value::Bool(value)) => Ok(*value),
            Outcome::Value(value) => Ok(!matches!(value, Value::None)),
            Outcome::Large(_) => Ok(true),
            Outcome::Failed(failed) if self.accepts_opaque(failed) => Ok(true),
            Outcome::Failed(failed) => Err(failed.clone()),
        };
        let (expected, given) = (presence(expected)?, presence(given)?);
        if expected == given {
            Ok(())
        } else {
            Err(Failed::new(Status::Ok, format!("it found {}", if given { "a match" } else { "no match" })))
        }
    }

    /// numpy's `allclose` on numbers, lists and tuples of the same type and length: an infinity is near only its equal.
    fn is_close(&self, given: &Value, expected: &Value) -> bool {
        match (given, expected) {
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_close_item(a, b))
            }
            _ => given.type_name() == expected.type_name() && self.is_close_item(given, expected),
        }
    }

    fn is_close_item(&self, given: &Value, expected: &Value) -> bool {
        match (given, expected) {
            (Value::List(a) | Value::Tuple(a), Value::List(b) | Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.is_close_item(a, b))
            }
            (Value::Complex(a, b), Value::Complex(c, d)) => {
                (a, b) == (c, d) || self.is_near((a - c).hypot(b - d), c.hypot(*d))
            }
            _ => match (number(given), number(expected)) {
                (Some(a), Some(b)) => a == b || self.is_near((a - b).abs(), b.abs()),
                _ => false,
            },
        }
    }

    fn is_near(&self, distance: f64, expected: f64) -> bool {
        expected.is_finite() && distance <= self.atol + RTOL * expected
    }

    /// Mbpp/581 with `height` read as the perpendicular height of the pyramid.
    fn is_surface_area(&self, arguments: &[Value], given: &Value) -> bool {
        let [edge, height] = arguments else { return false };
        let (Some(edge), Some(height), Some(given)) = (number(edge), number(height), number(given)) else {
            return false;
        };
        let slant = (edge / 2.0).hypot(height);
        let area = (edge * edge + 2.0 * edge * slant).round_ties_even();
        (given - area).abs() <= self.atol
    }
}

fn differs(given: &Value, expected: &Value) -> Failed {
    Failed::new(Status::Ok, format!("it gives {}, not {}", excerpt(given), excerpt(expected)))
}

/// A real number as a float, if it does not overflow.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::Int(value) => value.to_f64().filter(|value| value.is_finite()),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

/// A float, or a non-empty sequence of floats.
fn is_floats(value: &Value) -> bool {
    match value {
        Value::Float(_) => true,
        Value::List(items) | Value::Tuple(items) => {
            !items.is_empty() && items.iter().all(|item| matches!(item, Value::Float(_)))
        }
        _ => false,
    }
}

/// `set(value)`, if Python could build it.
fn as_set(value: &Value) -> Option<Value> {
    let items = match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) | Value::FrozenSet(items) => items.clone(),
        Value::Str(text) => {
            text.code_points().filter_map(char::from_u32).map(|c| Value::Str(c.to_string().as_str().into())).collect()
        }
        Value::Dict(pairs) => pairs.iter().map(|(key, _)| key.clone()).collect(),
        _ => return None,
    };
    Value::set_of(items)
}

/// HumanEval/32: the value of the polynomial with these coefficients.
fn polynomial(arguments: &[Value], at: &Value) -> Option<f64> {
    let [Value::List(coefficients)] = arguments else { return None };
    let at = number(at)?;
    let powers = std::iter::successors(Some(1.0), |power| Some(power * at));
    coefficients.iter().zip(powers).map(|(coefficient, power)| Some(number(coefficient)? * power)).sum()
}

/// Mbpp/558 with the shorter number padded with zeros.
fn digit_distance(arguments: &[Value]) -> Option<Value> {
    let [Value::Int(a), Value::Int(b)] = arguments else { return None };
    let (a, b) = (a.to_string(), b.to_string());
    let width = a.len().max(b.len());
    let digits = |text: String| format!("{text:0>width$}").bytes().map(i64::from).collect::<Vec<_>>();
    Some(Value::from(digits(a).iter().zip(digits(b)).map(|(a, b)| (a - b).abs()).sum::<i64>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle(entry_point: &str) -> Oracle<'_> {
        Oracle { entry_point, atol: 0.0, suite: Suite::Mbpp }
    }

    fn judged(oracle: &mut Oracle<'_>, expected: Value, given: Value) -> bool {
        oracle.judge(&[], &Outcome::Value(expected), &Outcome::Value(given)).is_ok()
    }

    #[test]
    fn tolerance_begins_with_the_first_float_and_stays() {
        let mut oracle = oracle("any");
        assert!(!judged(&mut oracle, Value::from(1), Value::from(2)));
        assert!(judged(&mut oracle, Value::Float(1.0), Value::Float(1.000_000_5)));
        assert!(!judged(&mut oracle, Value::Float(1.0), Value::Float(1.000_01)));
        assert!(!judged(&mut oracle, Value::List(vec![Value::Float(1.0)]), Value::Tuple(vec![Value::Float(1.1)])));
    }

    #[test]
    fn an_infinity_is_near_its_equal_alone() {
        let floats = |items: &[f64]| Value::List(items.iter().copied().map(Value::Float).collect());
        let infinite = Value::Float(f64::INFINITY);
        assert!(judged(&mut oracle("any"), infinite.clone(), infinite.clone()));
        for given in [0.0, 1e308, f64::NEG_INFINITY, f64::NAN] {
            assert!(!judged(&mut oracle("any"), infinite.clone(), Value::Float(given)), "{given}");
            assert!(!judged(&mut oracle("any"), floats(&[1.0, f64::INFINITY]), floats(&[1.0, given])), "{given}");
            assert!(!judged(&mut oracle("any"), Value::Float(given), infinite.clone()), "{given}");
        }
        let complex = |re, im| Value::List(vec![Value::Float(0.5), Value::Complex(re, im)]);
        let tolerant = || Oracle { atol: 1e-6, ..oracle("any") };
        assert!(judged(&mut tolerant(), complex(f64::INFINITY, 1.0), complex(f64::INFINITY, 1.0)));
        assert!(!judged(&mut tolerant(), complex(f64::INFINITY, 1.0), complex(2.0, 1.0)));
        // As floats, both integers would be infinite.
        let power = |exponent| Value::Int(num_bigint::BigInt::from(10).pow(exponent));
        assert!(!judged(&mut tolerant(), power(400), power(500)));
        assert!(!judged(&mut tolerant(), infinite, power(400)));
    }

    #[test]
    fn some_tasks_compare_sets_and_some_accept_anything() {
        let list = |items: &[i64]| Value::List(items.iter().map(|item| Value::from(*item)).collect());
        assert!(judged(&mut oracle("Diff"), list(&[1, 2]), list(&[2, 1, 1])));
        assert!(!judged(&mut oracle("Diff"), list(&[1, 2]), list(&[2])));
        assert!(judged(&mut oracle("are_equivalent"), Value::Bool(true), Value::Bool(false)));
        assert!(judged(&mut oracle("sum_div"), Value::from(7), Value::from(0)));
    }

    #[test]
    fn a_function_of_another_task_is_compared_as_any_other() {
        let list = |items: &[i64]| Value::List(items.iter().map(|item| Value::from(*item)).collect());
        let missing = Failed::new(Status::Unserialisable, "a value of type Match");
        for id in ["", "Mbpp", "Mbpp+/2", "HumanEval/2", "other/2"] {
            let of = |entry_point| Oracle { suite: Suite::of(id), ..oracle(entry_point) };
            assert!(!judged(&mut of("Diff"), list(&[1, 2]), list(&[2, 1])), "{id}");
            assert!(!judged(&mut of("are_equivalent"), Value::from(1), Value::from(2)), "{id}");
            assert!(!judged(&mut of("sum_div"), Value::from(7), Value::from(0)), "{id}");
            assert!(!judged(&mut of("check_str"), Value::from(1), Value::from(2)), "{id}");
            assert!(!of("check_str").accepts_opaque(&missing), "{id}");
            assert!(!of("surface_Area").reads_arguments(), "{id}");
        }
        assert!(oracle("check_str").accepts_opaque(&missing));
    }

    #[test]
    fn alternative_readings_of_two_tasks_are_accepted() {
        assert_eq!(digit_distance(&[Value::from(123), Value::from(56)]), Some(Value::from(1 + 3 + 3)));
        let arguments = [Value::from(3), Value::from(4)];
        let mut oracle = oracle("surface_Area");
        assert!(oracle.judge(&arguments, &Outcome::Value(Value::from(33)), &Outcome::Value(Value::from(35))).is_ok());
    }
}
