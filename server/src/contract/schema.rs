//! Requests in the description as their JSON Schemas have them, which also check them: bounds are written once.

use lyceum_core::config::Schema as JsonSchemaOf;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::{RefOr, Required, Schema};

/// Keys of a schema that bound a value.
const BOUNDS: [&str; 6] = ["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"];

/// The fields of `T` as parameters of a query.
pub(crate) fn query_parameters<T: JsonSchema + 'static>() -> Vec<Parameter> {
    let document = JsonSchemaOf::of::<T>().document();
    let is_required = |name: &str| {
        let required = document["required"].as_array();
        required.is_some_and(|names| names.iter().any(|one| one == name))
    };
    let fields = document["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| {
            let mut schema = plain(field);
            let description = schema.remove("description");
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Query)
                .required(if is_required(name) { Required::True } else { Required::False })
                .description(description.as_ref().and_then(Value::as_str))
                .schema(read(Value::Object(schema)))
                .build()
        })
        .collect()
}

/// The schema of `T`, the body of a request, with the bounds of its fields.
pub(super) fn bounded<T: JsonSchema + ToSchema + 'static>() -> RefOr<Schema> {
    let source = &JsonSchemaOf::of::<T>().document()["properties"];
    let mut described = serde_json::to_value(T::schema()).unwrap_or_default();
    let fields = described["properties"].as_object_mut().into_iter().flatten();
    for (name, field) in fields {
        let bounds = plain(&source[name.as_str()]);
        for (key, value) in bounds.into_iter().filter(|(key, _)| BOUNDS.contains(&key.as_str())) {
            field[key] = value;
        }
    }
    read(described).unwrap_or_else(T::schema)
}

/// The schema of a value that is there: without `null`, alternatives that are constants as an `enum`, and formats as
/// OpenAPI names them.
fn plain(field: &Value) -> Map<String, Value> {
    let mut schema = field.as_object().cloned().unwrap_or_default();
    let is_null = |one: &Value| one == "null" || one.is_null() || one["type"] == "null";
    if let Some(Value::Array(variants)) = schema.remove("anyOf") {
        let description = schema.remove("description");
        for variant in variants.iter().filter(|one| !is_null(one)) {
            schema.extend(plain(variant));
        }
        schema.extend(description.map(|text| ("description".to_owned(), text)));
    }
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        let names = variants.iter().filter(|one| !is_null(one)).map(|one| one["const"].clone());
        schema.insert("enum".to_owned(), names.collect());
        schema.insert("type".to_owned(), "string".into());
    }
    for key in ["type", "enum"] {
        if let Some(Value::Array(several)) = schema.get_mut(key) {
            several.retain(|one| !is_null(one));
        }
    }
    if let Some(Value::Array(types)) = schema.get("type")
        && let [only] = types.as_slice()
    {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
    if let Some(Value::String(format)) = schema.get_mut("format") {
        match format.as_str() {
            "uint8" | "uint16" | "uint32" | "int8" | "int16" => "int32".clone_into(format),
            "uint64" | "uint" => "int64".clone_into(format),
            _ => {}
        }
    }
    schema
}

fn read(schema: Value) -> Option<RefOr<Schema>> {
    serde_json::from_value(schema).ok()
}
