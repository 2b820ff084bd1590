//! Documents that users write as TOML.

use serde_json::Value;

/// The JSON value of a TOML document. A date, which JSON does not have, becomes a text.
///
/// # Errors
/// The text is not TOML.
pub fn from_toml(text: &str) -> Result<Value, toml::de::Error> {
    Ok(json(toml::Value::Table(text.parse()?)))
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(answer) => answer.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(fields) => fields.into_iter().map(|(name, field)| (name, json(field))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_text_and_all_else_is_as_serde_has_it() {
        let text = "a = [1, 2.5, true, 'x']\nb = { c = [{ d = -1 }] }\n";
        assert_eq!(from_toml(text).unwrap(), toml::from_str::<Value>(text).unwrap());
        assert_eq!(from_toml("name = 2026-11-29").unwrap()["name"], "2026-11-29");
        assert!(from_toml("a = ").unwrap_err().span().is_some());
    }
}
