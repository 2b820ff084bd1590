//! What a JSON Schema says of a value.

use serde_json::Value;

/// What `schema` says of values other than null.
pub(super) fn present(schema: &Value) -> &Value {
    let variants = schema["anyOf"].as_array().into_iter().flatten();
    let mut others = variants.filter(|variant| variant["type"] != "null");
    match (others.next(), others.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// Whether values of `schema` are objects.
pub(super) fn is_object(schema: &Value) -> bool {
    schema["properties"].is_object() || schema["additionalProperties"].is_object()
}

/// Its description, in one line.
pub(super) fn about(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The values listed by a schema, with their descriptions. Null is represented by an empty field.
pub(super) fn choices(schema: &Value) -> Vec<(String, String)> {
    let variants = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema[*key].as_array())
        .flatten();
    let mut found = Vec::new();
    for variant in variants {
        if let Some(name) = variant["const"].as_str() {
            found.push((name.to_owned(), about(variant)));
        } else {
            found.extend(choices(variant));
        }
    }
    found
}

/// The valid range of a number.
pub(super) fn range(schema: &Value) -> Option<String> {
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Number(least), Value::Number(most)) => Some(format!("{least} to {most}")),
        (Value::Number(least), _) => Some(format!("{least} or more")),
        (_, Value::Number(most)) => Some(format!("{most} or less")),
        _ => None,
    }
}
