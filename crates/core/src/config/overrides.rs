//! Single values that override a config or a preset, such as `populations.main.lora.r=16`.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::diagnose::shorten;
use super::pointer_token;
use crate::fault::{Fault, Faults};

/// Maximum overrides of a document.
const MAX_OVERRIDES: usize = 1_000;
/// Maximum bytes of an override's path.
const MAX_OVERRIDE_BYTES: usize = 1_000;
/// Maximum fields and indices of an override's path. Each may nest the document one deeper, and what reads a document
/// recurses as deep as it nests.
const MAX_DEPTH: usize = 32;

/// Sets every value of `overrides` at its dotted path in `document`, creating objects on the way. List elements are
/// addressed by index. Whether a field exists is left to the schema check.
///
/// # Errors
/// There are too many overrides; a path is too long, leads through a value without fields, or to an index that a list
/// does not have.
pub fn apply_overrides(document: &mut Value, overrides: &BTreeMap<String, Value>) -> Result<(), Faults> {
    if overrides.len() > MAX_OVERRIDES {
        let detail = format!("there are {} overrides: at most {MAX_OVERRIDES} are valid", overrides.len());
        return Err(Faults(vec![Fault::new("/overrides", detail)]));
    }
    let mut faults = Vec::new();
    for (path, value) in overrides {
        if let Some(detail) = misfit(path) {
            faults.push(Fault::new("/overrides", detail));
            continue;
        }
        match slot(document, path) {
            Ok(slot) => *slot = value.clone(),
            Err(detail) => faults.push(Fault::new(format!("/overrides/{}", pointer_token(path)), detail)),
        }
    }
    Faults(faults).or(())
}

/// Why `path` is too long. Its start is enough to find it.
fn misfit(path: &str) -> Option<String> {
    let start: String = path.chars().take(60).collect();
    let depth = path.split('.').count();
    if path.len() > MAX_OVERRIDE_BYTES {
        let bytes = path.len();
        return Some(format!("the path `{start}…` has {bytes} bytes: at most {MAX_OVERRIDE_BYTES} are valid"));
    }
    (depth > MAX_DEPTH).then(|| {
        format!("the path `{start}…` has {depth} parts: at most {MAX_DEPTH} are valid; override a whole object")
    })
}

fn slot<'a>(document: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    let mut at = document;
    for part in path.split('.') {
        if part.is_empty() {
            return Err(format!("`{path}` is not a path: separate fields by dots, such as `populations.main.lora.r`"));
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
                    format!("`{part}` is not an index of a list of {length}: 0 to {}", length.max(1) - 1)
                })?
            }
            other => {
                let other = shorten(other);
                return Err(format!("`{part}` leads into {other}, which has no fields"));
            }
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
        assert_eq!(overridden(document.clone(), "a.b.1", json!(9)).unwrap(), json!({"a": {"b": [1, 9]}}));
        assert_eq!(overridden(document, "x.y", json!(true)).unwrap(), json!({"a": {"b": [1, 2]}, "x": {"y": true}}));
    }

    #[test]
    fn a_path_through_a_number_or_past_a_list_is_refused_with_its_name() {
        let faults = overridden(json!({"a": 1}), "a.b", json!(2)).unwrap_err();
        assert_eq!(faults.0[0].pointer, "/overrides/a.b");
        assert!(overridden(json!({"a": [1]}), "a.1", json!(2)).is_err());
        assert!(overridden(json!({}), "a..b", json!(2)).is_err());
    }

    /// What applies, checks or drops the document would recurse as deep as the path, and end the process.
    #[test]
    fn a_long_path_is_refused_before_it_nests_the_document() {
        let deepest = vec!["a"; MAX_DEPTH].join(".");
        assert!(overridden(json!({}), &deepest, json!(1)).is_ok());
        for (path, found) in [
            (vec!["a"; MAX_DEPTH + 1].join("."), "33 parts: at most 32"),
            (vec!["a"; 50_000].join("."), "99999 bytes: at most 1000"),
        ] {
            let faults = overridden(json!({}), &path, json!(1)).unwrap_err();
            assert_eq!(faults.0[0].pointer, "/overrides");
            assert!(faults.0[0].detail.contains(found), "{}", faults.0[0].detail);
            assert!(faults.0[0].detail.len() < 300);
        }
    }

    #[test]
    fn too_many_overrides_are_refused_as_one_fault() {
        let overrides: BTreeMap<String, Value> = (0..=MAX_OVERRIDES).map(|at| (format!("x{at}"), json!(1))).collect();
        let faults = apply_overrides(&mut json!({}), &overrides).unwrap_err();
        assert_eq!(faults.0.len(), 1);
        assert!(faults.0[0].detail.contains("1001 overrides: at most 1000"));
    }
}
