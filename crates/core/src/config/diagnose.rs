//! Schema violations as messages that help a person fix them.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use super::pointer_token;
use crate::fault::{Fault, nearest};

/// The faults in `error`: one for each unknown field, else one.
pub(super) fn faults(error: &ValidationError<'_>, schema: &Value) -> Vec<Fault> {
    let place = error.instance_path().to_string();
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = siblings(error, schema);
            let fault =
                |name: &String| Fault::new(format!("{place}/{}", pointer_token(name)), unknown_field(name, &known));
            let mut faults: Vec<Fault> = unexpected.iter().take(MAX_UNKNOWN).map(fault).collect();
            if let Some(more) = unexpected.len().checked_sub(MAX_UNKNOWN).filter(|more| *more > 0) {
                faults.push(Fault::new(place, format!("{more} more fields are unknown")));
            }
            faults
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Fault::new(format!("{place}/{}", pointer_token(name)), "this field is required")]
        }
        ValidationErrorKind::Enum { options } => {
            let names: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            vec![Fault::new(place, not_one_of(error.instance().as_ref(), &names))]
        }
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context }
            if let Some(errors) = meant(error, context) =>
        {
            errors.iter().flat_map(|error| faults(error, schema)).collect()
        }
        // schemars turns an enum whose variants have docs into a choice between constants.
        ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. }
            if let Some(names) = constants(schema.pointer(&error.schema_path().to_string())) =>
        {
            vec![Fault::new(place, not_one_of(error.instance().as_ref(), &names))]
        }
        ValidationErrorKind::Minimum { limit } => {
            vec![Fault::new(place, format!("{} is too small: at least {limit} is valid", error.instance()))]
        }
        ValidationErrorKind::Maximum { limit } => {
            vec![Fault::new(place, format!("{} is too large: at most {limit} is valid", error.instance()))]
        }
        ValidationErrorKind::MaxProperties { limit } => {
            let found = error.instance().as_object().map_or(0, |fields| fields.len());
            vec![Fault::new(place, format!("it has {found} fields: at most {limit} are valid"))]
        }
        ValidationErrorKind::MaxItems { limit } => {
            let found = error.instance().as_array().map_or(0, Vec::len);
            vec![Fault::new(place, format!("it has {found} items: at most {limit} are valid"))]
        }
        ValidationErrorKind::MaxLength { limit } => {
            let found = error.instance().as_str().map_or(0, |text| text.chars().count());
            vec![Fault::new(place, format!("it has {found} characters: at most {limit} are valid"))]
        }
        ValidationErrorKind::Type { kind } => vec![Fault::new(place, wrong_type(error.instance().as_ref(), kind))],
        _ => vec![Fault::new(place, shorten_text(&error.to_string()))],
    }
}

/// Unknown fields of one object that are listed.
const MAX_UNKNOWN: usize = 100;

/// A value of a type that is not valid there. A field of a form that was left empty is sent as null.
fn wrong_type(given: &Value, valid: &TypeKind) -> String {
    let valid: Vec<JsonType> = match valid {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(several) => several.iter().collect(),
    };
    let names: Vec<&str> = valid.into_iter().map(with_article).collect();
    match given {
        Value::Null => format!("a value is required: {}", names.join(" or ")),
        other => format!("{} is not {}", shorten(other), names.join(" or ")),
    }
}

fn with_article(of: JsonType) -> &'static str {
    match of {
        JsonType::Null => "null",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "an object",
    }
}

/// The errors of the one alternative that the value is meant to be: that of its JSON type, with its tag, or whose only field it has.
fn meant<'e>(
    error: &ValidationError<'_>,
    alternatives: &'e [Vec<ValidationError<'_>>],
) -> Option<&'e [ValidationError<'e>]> {
    let is_other = |inner: &ValidationError<'_>| match inner.kind() {
        ValidationErrorKind::Type { .. } => inner.instance_path() == error.instance_path(),
        ValidationErrorKind::Constant { .. } => true,
        _ => false,
    };
    let lacks = |inner: &ValidationError<'_>| {
        matches!(inner.kind(), ValidationErrorKind::Required { .. }) && inner.instance_path() == error.instance_path()
    };
    let fitting: Vec<_> = alternatives.iter().filter(|errors| !errors.iter().any(is_other)).collect();
    let named: Vec<_> = fitting.iter().copied().filter(|errors| !errors.iter().any(lacks)).collect();
    match (&fitting[..], &named[..]) {
        ([only], _) | (_, [only]) => Some(only),
        _ => None,
    }
}

fn not_one_of(given: &Value, names: &[&str]) -> String {
    let near = given.as_str().and_then(|given| nearest(given, names.iter().copied()));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("{} is not one of {}{hint}", shorten(given), names.join(", "))
}

/// The constants to choose from, if `choices` has only constants, objects with the one field that names them, and null.
fn constants(choices: Option<&Value>) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for choice in choices?.as_array()? {
        if let Some(name) = choice["const"].as_str().or_else(|| only_field(choice)) {
            names.push(name);
        } else if choice["type"] != "null" {
            names.extend(constants(choice.get("oneOf").or_else(|| choice.get("anyOf")))?);
        }
    }
    Some(names)
}

/// The field of an object that has just one, which is required and no tag.
fn only_field(schema: &Value) -> Option<&str> {
    let fields = schema["properties"].as_object().filter(|fields| fields.len() == 1)?;
    let (name, field) = fields.iter().next()?;
    (schema["required"][0] == name.as_str() && field["const"].is_null()).then_some(name.as_str())
}

/// The known fields of the object that has the unknown one.
fn siblings<'a>(error: &ValidationError<'_>, schema: &'a Value) -> Vec<&'a str> {
    let place = error.schema_path().to_string();
    let object = place.rsplit_once('/').map_or("", |(object, _)| object);
    let properties = schema.pointer(&format!("{object}/properties")).and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys()).map(String::as_str).collect()
}

fn unknown_field(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no field `{name}`; did you mean `{near}`?"),
        None => format!("there is no field `{name}`; valid are {}", known.join(", ")),
    }
}

/// The start of `value` as JSON.
pub(super) fn shorten(value: &Value) -> String {
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
    fn a_choice_of_names_and_of_objects_by_name_says_which_there_are() {
        let band = json!({"type": "object", "properties": {"target": {"type": "number", "maximum": 1}}});
        let object = |name: &str, of: &serde_json::Value| {
            json!({"type": "object", "properties": {name: of}, "required": [name],
            "additionalProperties": false})
        };
        let schema = json!({"oneOf": [{"const": "epochs"}, object("band", &band), object("weighted", &json!({"type": "object"}))]});
        let told = |value: serde_json::Value| {
            let faults = Schema::new(schema.clone()).diagnose(&value);
            faults.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(told(json!("epoch")), ["\"epoch\" is not one of epochs, band, weighted; did you mean `epochs`?"]);
        assert_eq!(told(json!({"bands": {}})), ["{\"bands\":{}} is not one of epochs, band, weighted"]);
        let within = told(json!({"band": {"target": 2}}));
        assert!(within.len() == 1 && within[0].starts_with("/band/target: "), "{within:?}");
        assert!(told(json!({"band": {}})).is_empty() && told(json!("epochs")).is_empty());
    }

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
        assert!(told[0].starts_with("/1/datset: there is no field `datset`; did you mean `dataset`?"), "{told:?}");
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
    fn faults_of_large_objects_are_few_and_short() {
        let schema = json!({
            "type": "object",
            "properties": {
                "known": {"type": "string", "maxLength": 3},
                "list": {"type": "array", "maxItems": 2},
                "map": {"type": "object", "maxProperties": 1},
            },
            "additionalProperties": false,
        });
        let mut document = json!({"known": "é".repeat(5_000), "list": [1, 2, 3], "map": {"a": 1, "b": 2}});
        let fields = document.as_object_mut().unwrap();
        fields.extend((0..5_000).map(|at| (format!("unknown{at}"), json!(1))));
        let told: Vec<String> = Schema::new(schema).diagnose(&document).iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 100 + 1 + 3, "{told:?}");
        for line in [
            "4900 more fields are unknown",
            "/known: it has 5000 characters: at most 3 are valid",
            "/list: it has 3 items: at most 2 are valid",
            "/map: it has 2 fields: at most 1 are valid",
        ] {
            assert!(told.iter().any(|told| told == line), "{line}: {told:?}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_told_with_the_valid_ones_and_a_missing_one_as_missing() {
        let told = |schema: serde_json::Value, value: serde_json::Value| {
            let faults = Schema::new(schema).diagnose(&value);
            assert_eq!(faults.len(), 1);
            faults[0].detail.clone()
        };
        let steps = json!({"type": "integer"});
        assert_eq!(told(steps.clone(), json!(null)), "a value is required: a whole number");
        assert_eq!(told(steps, json!("many")), "\"many\" is not a whole number");
        let either = json!({"type": ["string", "array"]});
        assert_eq!(told(either, json!(1.5)), "1.5 is not a string or a list");
    }

    #[test]
    fn a_choice_between_constants_names_them_and_the_nearest() {
        let choice = json!({"oneOf": [{"const": "teacher"}, {"const": "student"}]});
        let optional = json!({"anyOf": [choice.clone(), {"type": "null"}]});
        for schema in [choice, optional] {
            let faults = Schema::new(schema).diagnose(&json!("teecher"));
            assert_eq!(faults.len(), 1);
            assert_eq!(faults[0].detail, "\"teecher\" is not one of teacher, student; did you mean `teacher`?");
        }
        let mixed = json!({"anyOf": [{"const": "all"}, {"type": "integer"}]});
        assert!(!Schema::new(mixed).diagnose(&json!("al"))[0].detail.contains("not one of all"));
    }
}
