//! Query strings: the parameters of an address, read as a document with a schema.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Schema, pointer_token};
use crate::fault::{Fault, Faults};

/// Reads `query`, the part of an address after `?`, as a `T`.
///
/// # Errors
/// Every fault at once, each at the pointer of its parameter: unknown and repeated parameters, and values of the wrong type or out
/// of range.
pub fn parse_query<T: DeserializeOwned + JsonSchema + 'static>(query: &str) -> Result<T, Faults> {
    let schema = Schema::of::<T>();
    let mut given = Map::new();
    let mut faults = Vec::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let pointer = || format!("/{}", pointer_token(&name));
        if text.contains('\0') {
            faults.push(Fault::new(pointer(), "the character U+0000 is not allowed"));
        }
        let value = typed(&text, &schema.document()["properties"][&*name]);
        if given.insert(name.to_string(), value).is_some() {
            faults.push(Fault::new(pointer(), "this parameter is repeated"));
        }
    }
    let document = Value::Object(given);
    let in_words = |fault: Fault| {
        let detail = fault.detail.replace("no field", "no parameter");
        Fault { detail: detail.replace("this field", "this parameter"), ..fault }
    };
    faults.extend(schema.diagnose(&document).into_iter().map(in_words));
    Faults(faults).or(())?;
    T::deserialize(document).map_err(|error| Faults(vec![Fault::new("", error.to_string())]))
}

/// `text` as JSON of the type in `schema`, if possible.
fn typed(text: &str, schema: &Value) -> Value {
    let wants = |name: &str| mentions_type(schema, name);
    match text {
        "true" | "false" if wants("boolean") => Value::Bool(text == "true"),
        _ if wants("integer") || wants("number") => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => Value::String(text.to_owned()),
        },
        _ => Value::String(text.to_owned()),
    }
}

fn mentions_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(only) if only == name => return true,
        Value::Array(several) if several.iter().any(|one| one == name) => return true,
        _ => {}
    }
    let variants = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    variants.is_some_and(|variants| variants.iter().any(|variant| mentions_type(variant, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Asked {
        #[schemars(range(min = 1, max = 100))]
        limit: Option<u32>,
        alive: Option<bool>,
        name: Option<String>,
    }

    #[test]
    fn values_are_read_as_what_they_should_be() {
        let asked: Asked = parse_query("limit=5&alive=true&name=7%20a").unwrap();
        assert_eq!((asked.limit, asked.alive, asked.name.as_deref()), (Some(5), Some(true), Some("7 a")));
        assert_eq!(parse_query::<Asked>("").unwrap().limit, None);
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let faults = parse_query::<Asked>("limit=500&alive=perhaps&nmae=x&name=a&name=b").unwrap_err();
        let named: Vec<&str> = faults.0.iter().map(|fault| fault.pointer.as_str()).collect();
        for name in ["/limit", "/alive", "/nmae", "/name"] {
            assert!(named.contains(&name), "{name} is missing in {faults:?}");
        }
        assert!(faults.0.iter().any(|fault| fault.detail.contains("did you mean `name`?")), "{faults:?}");
    }

    #[test]
    fn a_name_is_a_single_token_of_its_pointer() {
        let faults = parse_query::<Asked>("a/b~c=%00").unwrap_err();
        assert!(faults.0.iter().all(|fault| fault.pointer == "/a~1b~0c"), "{faults:?}");
    }
}
