//! Restores types that MBPP+'s inputs lost in JSON.

use crate::literal::parse_literal;
use crate::value::Value;

/// Restores the argument types of task `Mbpp/number`.
pub(super) fn restore(number: u32, arguments: Vec<Value>) -> Vec<Value> {
    match number {
        2 | 116 | 132 | 143 | 222 | 261 | 273 | 394 | 399 | 421 | 424 | 429 | 470 | 560 | 579 | 596 | 616 | 630
        | 726 | 740 | 744 | 809 => arguments.into_iter().map(tuple).collect(),
        63 | 64 | 70 | 94 | 120 | 237 | 272 | 299 | 400 | 409 | 417 | 438 | 473 | 614 | 780 => {
            arguments.into_iter().map(|argument| items(argument, tuple)).collect()
        }
        75 | 413 | 444 | 753 => argument_at(0, arguments, |argument| items(argument, tuple)),
        106 | 750 => argument_at(1, arguments, tuple),
        115 => argument_at(0, arguments, |argument| items(argument, set)),
        124 => {
            let arguments = argument_at(0, arguments, float);
            argument_at(1, arguments, complex)
        }
        250 | 307 | 405 | 446 | 617 | 720 | 763 | 808 => argument_at(0, arguments, tuple),
        252 => argument_at(0, arguments, complex),
        259 | 401 | 445 => arguments.into_iter().map(|argument| tuple(items(argument, tuple))).collect(),
        278 => argument_at(0, arguments, |argument| tuple(items(argument, list_to_tuple))),
        580 | 615 | 791 => arguments.into_iter().map(tuples_all_the_way).collect(),
        722 => argument_at(0, arguments, |argument| match argument {
            Value::Dict(pairs) => Value::Dict(pairs.into_iter().map(|(key, value)| (key, tuple(value))).collect()),
            other => other,
        }),
        _ => arguments,
    }
}

fn argument_at(at: usize, mut arguments: Vec<Value>, change: impl FnOnce(Value) -> Value) -> Vec<Value> {
    if let Some(argument) = arguments.get_mut(at) {
        *argument = change(std::mem::replace(argument, Value::None));
    }
    arguments
}

fn items(value: Value, change: impl FnMut(Value) -> Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(change).collect()),
        other => other,
    }
}

/// Python's `tuple(value)`.
fn tuple(value: Value) -> Value {
    match value {
        Value::List(items) => Value::Tuple(items),
        Value::Str(text) => Value::Tuple(
            text.code_points()
                .map(|code_point| {
                    let mut one = crate::value::PyStr::default();
                    one.push(code_point);
                    Value::Str(one)
                })
                .collect(),
        ),
        Value::Dict(pairs) => Value::Tuple(pairs.into_iter().map(|(key, _)| key).collect()),
        other => other,
    }
}

fn list_to_tuple(value: Value) -> Value {
    match value {
        Value::List(items) => Value::Tuple(items),
        other => other,
    }
}

fn tuples_all_the_way(value: Value) -> Value {
    match value {
        Value::List(items) => Value::Tuple(items.into_iter().map(tuples_all_the_way).collect()),
        other => other,
    }
}

/// A non-empty list becomes a set, everything else the empty dict.
fn set(value: Value) -> Value {
    let empty = Value::Dict(Vec::new());
    match value {
        Value::List(items) if !items.is_empty() => Value::set_of(items).unwrap_or(empty),
        _ => empty,
    }
}

fn float(value: Value) -> Value {
    match &value {
        Value::Str(text) => text.as_str().and_then(|text| text.trim().parse().ok()).map_or(value, Value::Float),
        Value::Int(number) => num_traits::ToPrimitive::to_f64(number).map_or(value, Value::Float),
        _ => value,
    }
}

fn complex(value: Value) -> Value {
    let read = match &value {
        Value::Str(text) => text.as_str().and_then(|text| parse_literal(text).ok()),
        other => Some(other.clone()),
    };
    match read {
        Some(Value::Int(number)) => {
            num_traits::ToPrimitive::to_f64(&number).map_or(value, |number| Value::Complex(number, 0.0))
        }
        Some(Value::Float(number)) => Value::Complex(number, 0.0),
        Some(Value::Complex(re, im)) => Value::Complex(re, im),
        _ => value,
    }
}
