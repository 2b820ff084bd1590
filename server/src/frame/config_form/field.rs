//! A field of the form: its words, its value, its kind of input by the schema, and editors of lists.

use lyceum_core::config::pointer_token;
use serde_json::Value;

use crate::frame::config_form::{Line, is_left_out};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The dotted path of the value.
    pub(crate) path: String,
    /// The JSON pointer of the value, as in faults.
    pub(crate) pointer: String,
    /// The last part of the path.
    pub(crate) label: String,
    /// The schema's description.
    pub(crate) about: String,
    /// Its value, as text.
    pub(crate) value: String,
    /// Its kind of input.
    pub(crate) input: Input,
    /// Whether it may be empty, meaning null.
    pub(crate) optional: bool,
    /// The valid range, if the schema has one.
    pub(crate) range: Option<String>,
}

impl Field {
    /// Whether it needs a whole row.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.input, Input::Items { .. } | Input::Texts(_))
    }
}

/// A text in one line: line ends and other control characters as JSON has them.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted[1..quoted.len() - 1].replace("\\\"", "\"")
}

/// A kind of input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    Number,
    /// One line of text.
    Text,
    /// Several lines of text.
    Lines,
    /// A checkbox.
    Check,
    /// One of these values, with their descriptions.
    Choice(Vec<(String, String)>),
    /// Any of these values, with their descriptions; whether each is in the list.
    Several(Vec<(String, String, bool)>),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of objects: the fields of each, and those of one that is added.
    Items {
        /// Each in the list.
        items: Vec<Vec<Field>>,
        /// An empty one.
        added: Vec<Field>,
    },
    /// JSON: any other list or object.
    Json,
}

/// The field of `schema` at `path`; none if the schema has none.
pub(super) fn field(path: &str, name: &str, schema: &Value, value: &Value) -> Option<Line> {
    if schema.is_null() {
        return None;
    }
    let has = |kind: &str| match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => false,
    };
    let choices = choices(schema);
    let list = list(schema, value);
    let input = match value {
        // An object that stands in the place of a name, such as a sampler with fields, is not among the names.
        _ if !choices.is_empty() && !value.is_object() => Input::Choice(choices),
        _ if list.is_some() => list.unwrap_or(Input::Json),
        Value::Array(_) | Value::Object(_) => Input::Json,
        _ if has("array") || has("object") || is_object(schema) => Input::Json,
        _ if has("boolean") => Input::Check,
        _ if has("integer") || has("number") => Input::Number,
        Value::String(text) if text.contains('\n') || text.len() > 60 => Input::Lines,
        _ => Input::Text,
    };
    let shown = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(Line::Field(Field {
        pointer: path.split('.').map(|part| format!("/{}", pointer_token(part))).collect(),
        path: path.to_owned(),
        label: name.replace('_', " "),
        about: about(schema),
        optional: has("null") || value.is_null(),
        range: range(schema),
        value: shown,
        input,
    }))
}

/// The editor of a list; `None` if its elements have none.
pub(super) fn list(schema: &Value, value: &Value) -> Option<Input> {
    let item = present(&schema["items"]);
    let entries: &[Value] = match value {
        Value::Array(entries) => entries,
        Value::Null => &[],
        _ => return None,
    };
    if !item.is_object() {
        return None;
    }
    let choices = choices(item);
    let texts: Option<Vec<&str>> = entries.iter().map(Value::as_str).collect();
    if !choices.is_empty() {
        let texts = texts?;
        let several = choices.into_iter().map(|(name, meaning)| {
            let is_in = texts.contains(&name.as_str());
            (name, meaning, is_in)
        });
        return Some(Input::Several(several.collect()));
    }
    // Suites are names or objects; those that are only names have the simple editor.
    let has_text = item["type"] == "string"
        || item["anyOf"].as_array().is_some_and(|variants| variants.iter().any(|variant| variant["type"] == "string"));
    if has_text {
        return texts.map(|texts| Input::Texts(texts.into_iter().map(str::to_owned).collect()));
    }
    let known = item["properties"].as_object()?;
    let fields = |value: &Value| -> Vec<Field> {
        // A field that is an object of fields is shown as these.
        let each = known.iter().flat_map(|(name, schema)| {
            let inner = present(schema)["properties"].as_object();
            let own = inner.is_none().then(|| (name.clone(), schema, &value[name]));
            let inner = inner.into_iter().flatten();
            let inner = inner.map(move |(field, schema)| (format!("{name}.{field}"), schema, &value[name][field]));
            own.into_iter().chain(inner)
        });
        let shown = each.filter(|(path, ..)| !is_left_out(path));
        let lines = shown.filter_map(|(path, schema, value)| field(&path, &path.replace('.', " "), schema, value));
        lines
            .filter_map(|line| match line {
                Line::Field(field) => Some(field),
                _ => None,
            })
            .collect()
    };
    let is_plain =
        |field: &Field| matches!(field.input, Input::Number | Input::Text | Input::Several(_) | Input::Choice(_));
    let added = fields(&Value::Null);
    let items: Vec<Vec<Field>> = entries.iter().map(fields).collect();
    let all_plain = added.iter().chain(items.iter().flatten()).all(is_plain);
    all_plain.then_some(Input::Items { items, added })
}

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
    let variants = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_what_is_valid() {
        let schema =
            serde_json::json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9, "description": "How\nmany."});
        let Some(Line::Field(field)) = field("a.b/c", "b/c", &schema, &Value::Null) else {
            panic!("a field");
        };
        assert_eq!((field.pointer.as_str(), field.range.as_deref()), ("/a/b~1c", Some("1 to 9")));
        assert!(field.optional && field.input == Input::Number && field.about == "How many.");
    }

    #[test]
    fn an_object_among_names_is_edited_as_json() {
        let band = serde_json::json!({"type": "object", "properties": {"band": {"type": "object"}}});
        let schema = serde_json::json!({"oneOf": [{"const": "epochs", "description": "In passes."}, band]});
        let input = |value: Value| match field("sampler", "sampler", &schema, &value) {
            Some(Line::Field(field)) => (field.input, field.value),
            _ => panic!("a field"),
        };
        let names = vec![("epochs".to_owned(), "In passes.".to_owned())];
        assert_eq!(input(serde_json::json!("epochs")), (Input::Choice(names), "epochs".to_owned()));
        assert_eq!(input(serde_json::json!({"band": {}})), (Input::Json, r#"{"band":{}}"#.to_owned()));
    }
}
