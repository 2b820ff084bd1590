//! Single values that override a config or a preset, such as `populations.main.lora.r=16`.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::pointer_token;
use crate::fault::{Fault, Faults};

/// Sets every value of `overrides` at its dotted path in `document`, creating objects on the way. List elements are
/// addressed by index. Whether a field exists is left to the schema check.
///
/// # Errors
/// A path leads through a value without fields, or to an index that a list does not have.
pub fn apply_overrides(document: &mut Value, overrides: &BTreeMap<String, Value>) -> Result<(), Faults> {
    let mut faults = Vec::new();
    for (path, value) in overrides {
        match slot(document, path) {
            Ok(slot) => *slot = value.clone(),
            Err(detail) => faults.push(Fault::new(format!("/overrides/{}", pointer_token(path)), detail)),
        }
    }
    Faults(faults).or(())
}

fn slot<'a>(document: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    let mut at = document;
    for part in path.split('.') {
        if part.is_empty() {
            return Err(format!(
                "`{path}` is not a path: separate fields by dots, such as `populations.main.lora.r`"
            ));
        }
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Object(fields) => fields.entry(part).or_insert(Value::Null),
            Value::Array(items) => {
                let length = items.len();
                let item = part.parse::<usize>().ok().and_then(|index| items.get_mut(index));
                item.ok_or_else(|| {
                    format!(
                        "`{part}` is not an index of a list of {length}: 0 to {}",
                        length.max(1) - 1
                    )
                })?
            }
            other => return Err(format!("`{part}` leads into {other}, which has no fields")),
        };
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn overridden(mut document: Value, path: &str, value: Value) -> Result<Value, Faults> {
        apply_overrides(&mut document, &BTreeMap::from([(path.to_owned(), value)]))?;
        Ok(document)
    }

    #[test]
    fn a_path_reaches_fields_list_items_and_what_is_not_there_yet() {
        let document = json!({"a": {"b": [1, 2]}});
        assert_eq!(
            overridden(document.clone(), "a.b.1", json!(9)).unwrap(),
            json!({"a": {"b": [1, 9]}})
        );
        assert_eq!(
            overridden(document, "x.y", json!(true)).unwrap(),
            json!({"a": {"b": [1, 2]}, "x": {"y": true}})
        );
    }

    #[test]
    fn a_path_through_a_number_or_past_a_list_is_refused_with_its_name() {
        let faults = overridden(json!({"a": 1}), "a.b", json!(2)).unwrap_err();
        assert_eq!(faults.0[0].pointer, "/overrides/a.b");
        assert!(overridden(json!({"a": [1]}), "a.1", json!(2)).is_err());
        assert!(overridden(json!({}), "a..b", json!(2)).is_err());
    }
}
