//! Defaults of the recipes: a field that is given changes no other one.

use lyceum_core::config;
use lyceum_core::recipe::Registry;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;

/// A preset of each recipe, for a base whose context has room for the paper's lengths.
const PRESETS: [&str; 6] = [
    "populora-qwen2.5-coder-7b",
    "azr-qwen2.5-coder-7b",
    "rlvr-qwen2.5-coder-7b",
    "rzero-qwen3-4b",
    "sage-qwen3-4b",
    "gasp-qwen2.5-coder-7b",
];

/// The config of a preset with no other parameters than the required ones.
fn smallest(preset: &str, registry: &Registry) -> Value {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../configs/runs", &format!("{preset}.toml")].iter().collect();
    let mut document: Value = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let recipe = registry.get(document["recipe"].as_str().unwrap()).unwrap();
    let schema = recipe.parameters_schema();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let parameters: Map<String, Value> =
        required.map(|name| (name.to_owned(), document["parameters"][name].clone())).collect();
    document["parameters"] = Value::Object(parameters);
    document
}

fn resolved(document: &Value, registry: &Registry) -> Value {
    config::resolve(document, registry)
        .unwrap_or_else(|faults| panic!("{}: {faults}", document["parameters"]))
        .parameters
}

/// The pointers of all groups and fields of `value`, below `pointer`.
fn pointers(value: &Value, pointer: &str, found: &mut Vec<String>) {
    for (name, field) in value.as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        pointers(field, &pointer, found);
        found.push(pointer);
    }
}

/// Sets `value` at `pointer`, and nothing besides it in the groups above.
fn set(document: &mut Value, pointer: &str, value: Value) {
    let mut at = document;
    for name in pointer.split('/').skip(1) {
        let Value::Object(fields) = at else { panic!("{pointer}") };
        at = fields.entry(name).or_insert_with(|| json!({}));
    }
    *at = value;
}

#[test]
fn a_field_that_is_given_leaves_the_others_as_they_are() {
    let registry = Registry::shipped();
    for preset in PRESETS {
        let smallest = smallest(preset, &registry);
        let whole = resolved(&smallest, &registry);
        let mut known = Vec::new();
        pointers(&whole, "", &mut known);
        // Templates and their hashes follow from the set.
        known.retain(|pointer| !pointer.starts_with("/prompts/"));
        assert!(known.len() > 30, "{known:?}");
        for pointer in known {
            let value = match whole.pointer(&pointer).unwrap() {
                Value::Object(_) => json!({}),
                value => value.clone(),
            };
            if smallest["parameters"].pointer(&pointer).is_some() {
                continue;
            }
            let mut document = smallest.clone();
            set(&mut document["parameters"], &pointer, value);
            assert_eq!(resolved(&document, &registry), whole, "{preset} with {pointer}");
        }
    }
}

/// What forms and clients read as the default of a field is what a run has if nothing is said.
#[test]
fn the_default_in_a_schema_is_that_of_a_run() {
    let registry = Registry::shipped();
    for preset in PRESETS {
        let smallest = smallest(preset, &registry);
        let whole = resolved(&smallest, &registry);
        let recipe = smallest["recipe"].as_str().unwrap();
        let schema = registry.get(recipe).unwrap().parameters_schema();
        let mut known = Vec::new();
        pointers(&whole, "", &mut known);
        for pointer in known.iter().filter(|pointer| !pointer.starts_with("/prompts")) {
            let field = schema.pointer(&pointer.replace('/', "/properties/"));
            let default = field.and_then(|field| field.get("default")).filter(|default| !default.is_object());
            if let Some(default) = default {
                assert_eq!(Some(default), whole.pointer(pointer), "{recipe}: {pointer}");
            }
        }
    }
}
