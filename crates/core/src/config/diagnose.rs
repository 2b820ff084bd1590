//! Schema violations, said so that a person can mend them.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use super::pointer_token;
use crate::fault::{Fault, nearest};

/// Every violation of `schema` in `document`, in the order in which they stand in it.
pub fn diagnose(document: &Value, schema: &Value) -> Vec<Fault> {
    match jsonschema::validator_for(schema) {
        Ok(validator) => validator
            .iter_errors(document)
            .flat_map(|error| faults(&error, schema))
            .collect(),
        Err(error) => vec![Fault::new("", format!("the schema itself is wrong: {error}"))],
    }
}

fn faults(error: &ValidationError<'_>, schema: &Value) -> Vec<Fault> {
    let place = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = siblings(error, schema);
            unexpected
                .iter()
                .map(|name| Fault::new(format!("{place}/{}", pointer_token(name)), unknown_field(name, &known)))
                .collect()
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Fault::new(
                format!("{place}/{}", pointer_token(name)),
                "this field is required",
            )]
        }
        ValidationErrorKind::Enum { options } => {
            let names: Vec<&str> = options
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let given = error.instance().as_ref();
            let near = given.as_str().and_then(|given| nearest(given, names.iter().copied()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            vec![Fault::new(
                place,
                format!("{} is not one of {}{hint}", shorten(given), names.join(", ")),
            )]
        }
        ValidationErrorKind::Minimum { limit } => {
            vec![Fault::new(
                place,
                format!("{} is too small: at least {limit} is valid", error.instance()),
            )]
        }
        ValidationErrorKind::Maximum { limit } => {
            vec![Fault::new(
                place,
                format!("{} is too large: at most {limit} is valid", error.instance()),
            )]
        }
        _ => vec![Fault::new(place, shorten_text(&error.to_string()))],
    }
}

/// The fields that are known where an unknown one stands.
fn siblings<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Vec<&'a str> {
    let place = error.schema_path().to_string();
    let object = place.rsplit_once('/').map_or("", |(object, _)| object);
    let properties = schema
        .pointer(&format!("{object}/properties"))
        .and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys())
        .map(String::as_str)
        .collect()
}

fn unknown_field(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no field `{name}`; did you mean `{near}`?"),
        None => format!("there is no field `{name}`; valid are {}", known.join(", ")),
    }
}

fn shorten(value: &Value) -> String {
    shorten_text(&value.to_string())
}

/// A fault must stay readable however long the value at fault is.
fn shorten_text(text: &str) -> String {
    const LIMIT: usize = 300;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
