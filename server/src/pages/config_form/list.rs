//! Editors of lists.

use serde_json::Value;

use super::{
    Field, Input, Line,
    field::field,
    schema::{choices, present},
};

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
    // Suites are names or objects; those that are names alone have the simple editor.
    let has_text = item["type"] == "string"
        || item["anyOf"]
            .as_array()
            .is_some_and(|variants| variants.iter().any(|variant| variant["type"] == "string"));
    if has_text {
        return texts.map(|texts| Input::Texts(texts.into_iter().map(str::to_owned).collect()));
    }
    let known = item["properties"].as_object()?;
    let fields = |value: &Value| -> Vec<Field> {
        let each = known
            .iter()
            .filter_map(|(name, schema)| match field(name, name, schema, &value[name]) {
                Some(Line::Field(field)) => Some(field),
                _ => None,
            });
        each.collect()
    };
    let is_plain = |field: &Field| {
        matches!(
            field.input,
            Input::Number | Input::Text | Input::Several(_) | Input::Choice(_)
        )
    };
    let added = fields(&Value::Null);
    let items: Vec<Vec<Field>> = entries.iter().map(fields).collect();
    let all_plain = added.iter().chain(items.iter().flatten()).all(is_plain);
    all_plain.then_some(Input::Items { items, added })
}
