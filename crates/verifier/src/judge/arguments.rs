//! Arguments of a call as data.

use lyceum_core::verify::Status;

use crate::execution::{Arguments, Failed, MAX_TEXT, MAX_VALUE, Outcome, Request, single};
use crate::literal::{self, parse_arguments};
use crate::program::check_arguments;
use crate::sandbox::{Limits, SandboxError, Zygote};
use crate::value::Value;

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
    let request = Request::Evaluate {
        arguments: text,
        max_bytes: MAX_VALUE,
    };
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
    let [Value::Tuple(positional), Value::Dict(keyword)]: [Value; 2] = parts.try_into().ok()? else {
        return None;
    };
    let named = |(name, value)| match name {
        Value::Str(name) => Some((name, value)),
        _ => None,
    };
    Some(literal::Arguments {
        positional,
        keyword: keyword.into_iter().map(named).collect::<Option<_>>()?,
    })
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
