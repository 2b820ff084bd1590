//! Differences between configs.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A field with different values.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Difference {
    /// Its JSON pointer (RFC 6901).
    pub(crate) pointer: String,
    /// Its dotted name, as overrides have it.
    pub(crate) name: String,
    /// Its value in each config, if present.
    pub(crate) values: Vec<Option<Value>>,
}

impl Difference {
    /// The values as text.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |value: &Option<Value>| match value {
            None => "–".to_owned(),
            Some(Value::String(text)) => crate::frame::text::excerpt(text, 200).text,
            Some(other) => crate::frame::text::excerpt(&other.to_string(), 200).text,
        };
        self.values.iter().map(text).collect()
    }
}

/// The fields in which `configs` differ, sorted by pointer. A list is one value unless its items are objects.
pub(crate) fn differences(configs: &[&Value]) -> Vec<Difference> {
    let mut pointers = BTreeSet::new();
    for config in configs {
        leaves(config, String::new(), &mut pointers);
    }
    let leaf = |value: &Value| !is_branch(value);
    let difference = |pointer: String| {
        let values: Vec<Option<Value>> = configs
            .iter()
            .map(|config| config.pointer(&pointer).filter(|value| leaf(value)).cloned())
            .collect();
        values.windows(2).any(|pair| pair[0] != pair[1]).then(|| Difference {
            name: dotted(&pointer),
            pointer,
            values,
        })
    };
    pointers.into_iter().filter_map(difference).collect()
}

/// The dotted name of what a pointer points to.
fn dotted(pointer: &str) -> String {
    let names = pointer.split('/').skip(1);
    let names = names.map(|name| name.replace("~1", "/").replace("~0", "~"));
    names.collect::<Vec<_>>().join(".")
}

fn is_branch(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        _ => false,
    }
}

fn leaves(value: &Value, at: String, found: &mut BTreeSet<String>) {
    match value {
        _ if !is_branch(value) => {
            found.insert(at);
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(value, format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                leaves(value, format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_with_slashes_stay_whole() {
        assert_eq!(dotted("/a~1b/c~0d/0"), "a/b.c~d.0");
    }

    #[test]
    fn only_what_differs_is_named() {
        let one = json!({"seed": 1, "a/b": {"r": 8, "same": [1, 2]}, "members": [{"count": 2}], "list": [1]});
        let other = json!({"seed": 2, "a/b": {"r": 8, "same": [1, 2]}, "members": [{"count": 2}, {"count": 4}], "list": [1, 2]});
        let found: Vec<(String, Vec<String>)> = differences(&[&one, &other])
            .into_iter()
            .map(|difference| (difference.name.clone(), difference.texts()))
            .collect();
        let row = |pointer: &str, values: [&str; 2]| (pointer.to_owned(), values.map(str::to_owned).to_vec());
        assert_eq!(
            found,
            [
                row("list", ["[1]", "[1,2]"]),
                row("members.1.count", ["–", "4"]),
                row("seed", ["1", "2"])
            ]
        );
        assert_eq!(differences(&[&one]), []);
        assert_eq!(differences(&[]), []);
    }
}
