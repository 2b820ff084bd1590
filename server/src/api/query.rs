//! Query parameters: unknown ones are refused, and all faults are reported at once.

use actix_web::{FromRequest, HttpRequest, dev::Payload};
use lyceum_core::{config::Schema, fault::Fault};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::future::{Ready, ready};

use crate::api_error::ApiError;

/// Valid parameters.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned + JsonSchema + 'static> FromRequest for Query<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse(request.query_string()).map(Self))
    }
}

/// Parses `query`, the part of an address after `?`.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema + 'static>(query: &str) -> Result<T, ApiError> {
    let schema = Schema::of::<T>();
    let mut given = Map::new();
    let mut faults = Vec::new();
    for (name, text) in form_urlencoded(query) {
        if text.contains('\0') {
            faults.push(Fault::new(format!("/{name}"), "the character U+0000 is not allowed"));
        }
        let value = typed(&text, &schema.document()["properties"][&name]);
        if given.insert(name.clone(), value).is_some() {
            faults.push(Fault::new(format!("/{name}"), "this parameter is repeated"));
        }
    }
    let document = Value::Object(given);
    faults.extend(schema.diagnose(&document));
    if faults.is_empty() {
        match T::deserialize(document) {
            Ok(value) => return Ok(value),
            Err(error) => faults.push(Fault::new("", error.to_string())),
        }
    }
    let named = |fault: Fault| {
        let name = fault
            .pointer
            .trim_start_matches('/')
            .replace("~1", "/")
            .replace("~0", "~");
        (
            name,
            fault
                .detail
                .replace("no field", "no parameter")
                .replace("this field", "this parameter"),
        )
    };
    Err(ApiError::invalid_query(faults.into_iter().map(named).collect()))
}

fn form_urlencoded(query: &str) -> Vec<(String, String)> {
    actix_web::web::Query::<Vec<(String, String)>>::from_query(query)
        .map(|pairs| pairs.into_inner())
        .unwrap_or_default()
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
        let asked: Asked = parse("limit=5&alive=true&name=7%20a").unwrap();
        assert_eq!(
            (asked.limit, asked.alive, asked.name.as_deref()),
            (Some(5), Some(true), Some("7 a"))
        );
        assert_eq!(parse::<Asked>("").unwrap().limit, None);
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let problem = parse::<Asked>("limit=500&alive=perhaps&nmae=x&name=a&name=b").unwrap_err();
        let said = serde_json::to_value(&problem).unwrap();
        let named: Vec<&str> = said["errors"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|e| e["parameter"].as_str())
            .collect();
        for name in ["limit", "alive", "nmae", "name"] {
            assert!(named.contains(&name), "{name} is missing in {said}");
        }
        assert!(said.to_string().contains("did you mean `name`?"), "{said}");
    }
}
