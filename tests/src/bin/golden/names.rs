//! Replaces identifiers by names. Identifiers are hashes that include the run's, so no two runs share one.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

use crate::key::{Key, Part};

/// The name of each identifier of a run.
#[derive(Default)]
pub(crate) struct Names(HashMap<Uuid, Name>);

struct Name {
    row: &'static str,
    key: String,
}

impl Names {
    /// Names the row at `key`, of type `row`.
    pub(crate) fn add(&mut self, id: Uuid, row: &'static str, key: &Key) {
        // The tables `executions` and `runs` share identifiers, and the name.
        self.0.insert(id, Name { row, key: key.to_string() });
    }

    /// A column of a key, with references replaced by names.
    ///
    /// # Errors
    /// If it is neither a number nor text nor null.
    pub(crate) fn part(&self, column: &Value) -> Result<Part> {
        match column {
            Value::Null => Ok(Part::Text("-".to_owned())),
            Value::Number(number) => Ok(number.as_i64().map_or_else(|| Part::Text(number.to_string()), Part::Number)),
            Value::String(text) => {
                let name = Uuid::try_parse(text).ok().and_then(|id| self.0.get(&id));
                Ok(Part::Text(name.map_or_else(|| text.clone(), |name| name.key.clone())))
            }
            other => anyhow::bail!("{other} cannot be part of a key"),
        }
    }

    /// Replaces every identifier in `value`, in strings and in field names.
    ///
    /// # Errors
    /// If an identifier is unknown.
    pub(crate) fn replace(&self, value: &mut Value) -> Result<()> {
        match value {
            Value::String(text) => {
                if let Some(named) = self.named(text)? {
                    *text = named;
                }
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.replace(item))?,
            Value::Object(fields) => {
                let mut named = Map::new();
                for (field, mut inner) in std::mem::take(fields) {
                    self.replace(&mut inner)?;
                    named.insert(self.named(&field)?.unwrap_or(field), inner);
                }
                *fields = named;
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    /// The text with identifiers replaced by names, if it has any.
    fn named(&self, text: &str) -> Result<Option<String>> {
        const LENGTH: usize = 36;
        const DASH: usize = 8;
        let (mut named, mut copied, mut at) = (String::new(), 0, 0);
        while let Some(dash) = text.as_bytes().get(at + DASH) {
            let id = (*dash == b'-')
                .then(|| text.get(at..at + LENGTH))
                .flatten()
                .and_then(|part| Uuid::try_parse(part).ok());
            let Some(id) = id else {
                at += 1;
                continue;
            };
            let name = self.0.get(&id).with_context(|| format!("the identifier {id} names no row of the run"))?;
            named.push_str(&text[copied..at]);
            named.push_str(&format!("{} {}", name.row, name.key));
            at += LENGTH;
            copied = at;
        }
        Ok((copied > 0).then(|| named + &text[copied..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names() -> (Names, Uuid) {
        let id = Uuid::from_u128(7);
        let mut names = Names::default();
        names.add(id, "member", &Key(vec![Part::Text("teacher-1".to_owned())]));
        (names, id)
    }

    #[test]
    fn identifiers_are_replaced_in_texts_and_fields_wherever_they_are() {
        let (names, id) = names();
        let mut value = json!({
            id.to_string(): [{ "of": id }, 3, null],
            "text": format!("é {id} and {id}-"),
            "digest": "0123456-not-an-identifier-at-all-0123456789",
        });
        names.replace(&mut value).unwrap();
        let expected = json!({
            "member teacher-1": [{ "of": "member teacher-1" }, 3, null],
            "text": "é member teacher-1 and member teacher-1-",
            "digest": "0123456-not-an-identifier-at-all-0123456789",
        });
        assert_eq!(value, expected);
        assert_eq!(names.part(&json!(id)).unwrap(), Part::Text("teacher-1".to_owned()));
    }

    #[test]
    fn an_identifier_without_a_name_is_an_error() {
        let (names, _) = names();
        let stranger = Uuid::from_u128(8);
        let error = names.replace(&mut json!([stranger])).unwrap_err();
        assert!(error.to_string().contains(&stranger.to_string()), "{error}");
    }
}
