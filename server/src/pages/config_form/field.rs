//! A field of the form: its words, its value, and its kind of input by the schema.

use lyceum_core::config::pointer_token;
use serde_json::Value;

use super::{
    Line,
    list::list,
    schema::{about, choices, is_object, range},
};

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
        _ if !choices.is_empty() => Input::Choice(choices),
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
        pointer: path
            .split('.')
            .map(|part| format!("/{}", pointer_token(part)))
            .collect(),
        path: path.to_owned(),
        label: name.replace('_', " "),
        about: about(schema),
        optional: has("null") || value.is_null(),
        range: range(schema),
        value: shown,
        input,
    }))
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
        assert_eq!(
            (field.pointer.as_str(), field.range.as_deref()),
            ("/a/b~1c", Some("1 to 9"))
        );
        assert!(field.optional && field.input == Input::Number && field.about == "How many.");
    }
}
