//! Schema violations as messages that help a person fix them.

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use super::pointer_token;
use crate::fault::{Fault, nearest};

/// The faults in `error`: one for each unknown field, else one.
pub(super) fn faults(error: &ValidationError<'_>, schema: &Value) -> Vec<Fault> {
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
            vec![Fault::new(place, not_one_of(error.instance().as_ref(), &names))]
        }
        // schemars turns an enum whose variants have docs into a choice between constants.
        ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. }
            if let Some(names) = constants(schema.pointer(&error.schema_path().to_string())) =>
        {
            vec![Fault::new(place, not_one_of(error.instance().as_ref(), &names))]
        }
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context }
            if let Some(errors) = meant(error, context) =>
        {
            errors.iter().flat_map(|error| faults(error, schema)).collect()
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

/// The errors of the one alternative that the value is meant to be: that of its JSON type, with its tag.
fn meant<'e>(
    error: &ValidationError<'_>,
    alternatives: &'e [Vec<ValidationError<'_>>],
) -> Option<&'e [ValidationError<'e>]> {
    let is_other = |inner: &ValidationError<'_>| match inner.kind() {
        ValidationErrorKind::Type { .. } => inner.instance_path() == error.instance_path(),
        ValidationErrorKind::Constant { .. } => true,
        _ => false,
    };
    let mut fitting = alternatives.iter().filter(|errors| !errors.iter().any(is_other));
    match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

fn not_one_of(given: &Value, names: &[&str]) -> String {
    let near = given.as_str().and_then(|given| nearest(given, names.iter().copied()));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{} is not one of {}{hint}", shorten(given), names.join(", "))
}

/// The constants to choose from, if `choices` has only constants (and null, for optional values).
fn constants(choices: Option<&Value>) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for choice in choices?.as_array()? {
        if let Some(name) = choice["const"].as_str() {
            names.push(name);
        } else if choice["type"] != "null" {
            names.extend(constants(choice.get("oneOf").or_else(|| choice.get("anyOf")))?);
        }
    }
    Some(names)
}

/// The known fields of the object that has the unknown one.
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

/// Keeps messages readable however long the faulty value is.
fn shorten_text(text: &str) -> String {
    const LIMIT: usize = 300;
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Schema;
    use serde_json::json;

    #[test]
    fn a_fault_within_an_alternative_is_told_at_its_own_place() {
        let object = json!({
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}, "dataset": {"type": "string"}},
            "additionalProperties": false,
        });
        let schema = json!({"type": "array", "items": {"anyOf": [{"type": "string"}, object]}});
        let faults = Schema::new(schema).diagnose(&json!(["a", {"n": 0, "datset": "b"}, 3]));
        let mut told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        told.sort_unstable();
        assert!(
            told[0].starts_with("/1/datset: there is no field `datset`; did you mean `dataset`?"),
            "{told:?}"
        );
        assert!(told[1].starts_with("/1/n: 0 is too small"), "{told:?}");
        assert!(told[2].starts_with("/2: "), "{told:?}");
        let tagged = |tag: &str, field: &str| {
            json!({
                "type": "object",
                "properties": {"type": {"const": tag}, (field): {"type": "integer"}},
                "required": ["type", field],
                "additionalProperties": false,
            })
        };
        let schema = Schema::new(json!({"oneOf": [tagged("a", "x"), tagged("b", "y")]}));
        let told = schema.diagnose(&json!({"type": "b", "y": "one"}));
        assert_eq!((told.len(), told[0].pointer.as_str()), (1, "/y"));
    }

    #[test]
    fn a_choice_between_constants_names_them_and_the_nearest() {
        let choice = json!({"oneOf": [{"const": "teacher"}, {"const": "student"}]});
        let optional = json!({"anyOf": [choice.clone(), {"type": "null"}]});
        for schema in [choice, optional] {
            let faults = Schema::new(schema).diagnose(&json!("teecher"));
            assert_eq!(faults.len(), 1);
            assert_eq!(
                faults[0].detail,
                "\"teecher\" is not one of teacher, student; did you mean `teacher`?"
            );
        }
        let mixed = json!({"anyOf": [{"const": "all"}, {"type": "integer"}]});
        assert!(
            !Schema::new(mixed).diagnose(&json!("al"))[0]
                .detail
                .contains("not one of all")
        );
    }
}
