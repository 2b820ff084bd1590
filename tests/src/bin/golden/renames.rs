//! Fields that had another name in older builds.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rename: Vec<Rename>,
}

/// A field's old and new path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    pub(crate) table: String,
    from: String,
    to: String,
}

/// The renames of `renames.toml`.
///
/// # Errors
/// If the file is not a valid list of renames.
pub(crate) fn shipped() -> Result<Vec<Rename>> {
    let file: File = toml::from_str(include_str!("renames.toml")).context("renames.toml")?;
    Ok(file.rename)
}

impl Rename {
    /// Moves a row's value from the old path to the new one.
    pub(crate) fn apply(&self, row: &mut Value) {
        let from: Vec<&str> = self.from.split('/').collect();
        let mut taken = Vec::new();
        take(row, &from, &mut Vec::new(), &mut taken);
        for (stars, value) in taken {
            let mut stars = stars.iter().map(String::as_str);
            let filled = self.to.split('/').map(|name| match name {
                "*" => stars.next().unwrap_or(name),
                _ => name,
            });
            put(row, &filled.collect::<Vec<_>>(), value);
        }
    }
}

/// A removed value, and the matches of its path's wildcards.
type Taken = (Vec<String>, Value);

fn take(value: &mut Value, path: &[&str], stars: &mut Vec<String>, taken: &mut Vec<Taken>) {
    let Some((name, rest)) = path.split_first() else { return };
    let fields: Vec<String> = match value {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        _ => Vec::new(),
    };
    for field in fields.into_iter().filter(|field| *name == "*" || name == field) {
        if *name == "*" {
            stars.push(field.clone());
        }
        if rest.is_empty() {
            let found = value.as_object_mut().and_then(|fields| fields.remove(&field));
            taken.extend(found.map(|found| (stars.clone(), found)));
        } else if let Some(inner) = inner(value, &field) {
            take(inner, rest, stars, taken);
        }
        if *name == "*" {
            stars.pop();
        }
    }
}

fn put(row: &mut Value, path: &[&str], value: Value) {
    match (path, row) {
        ([name], Value::Object(fields)) => {
            fields.insert((*name).to_owned(), value);
        }
        ([name, rest @ ..], row) => {
            if let Value::Object(fields) = row {
                fields.entry(*name).or_insert_with(|| Value::Object(Map::new()));
            }
            if let Some(inner) = inner(row, name) {
                put(inner, rest, value);
            }
        }
        _ => {}
    }
}

fn inner<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(fields) => fields.get_mut(name),
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn renamed(from: &str, to: &str, mut row: Value) -> Value {
        let rename = Rename { table: "work".to_owned(), from: from.to_owned(), to: to.to_owned() };
        rename.apply(&mut row);
        row
    }

    #[test]
    fn the_shipped_renames_can_be_read() {
        shipped().unwrap();
    }

    #[test]
    fn a_field_moves_with_what_its_stars_stood_for() {
        let row = json!({ "payload": { "members": [{ "from": 1 }, { "from": 2, "to": 3 }, {}] } });
        let expected = json!({ "payload": { "members": [{ "start": 1 }, { "to": 3, "start": 2 }, {}] } });
        assert_eq!(renamed("payload/members/*/from", "payload/members/*/start", row), expected);
    }

    #[test]
    fn a_field_moves_below_one_that_is_not_there_yet() {
        let row = json!({ "memory": { "code_i": [1], "names": 2 } });
        let expected = json!({ "memory": { "names": 2, "pool": { "code_i": [1] } } });
        assert_eq!(renamed("memory/code_i", "memory/pool/code_i", row), expected);
    }

    #[test]
    fn a_row_of_today_stays_as_it_is() {
        let row = json!({ "payload": { "members": [{ "start": 1 }] } });
        assert_eq!(renamed("payload/members/*/from", "payload/members/*/start", row.clone()), row);
    }
}
