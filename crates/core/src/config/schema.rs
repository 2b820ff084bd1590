//! JSON Schemas with their validators, each built once.

use jsonschema::Validator;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};
use std::{
    any::TypeId,
    collections::HashMap,
    sync::{LazyLock, PoisonError, RwLock},
};

use super::{RunConfig, defaults::settle, diagnose::faults};
use crate::{contract::Recipe, fault::Fault};

/// A JSON Schema (2020-12) and its validator.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    /// The validator, or why the schema itself is invalid.
    validator: Result<Validator, String>,
}

impl Schema {
    /// The schema `document`, without references, so that a fault can be looked up in it by its path.
    pub fn new(document: Value) -> Self {
        let validator = jsonschema::validator_for(&document).map_err(|error| error.to_string());
        Self { document, validator }
    }

    /// The schema of `T`, built when it is first asked for.
    pub fn of<T: JsonSchema + 'static>() -> &'static Self {
        static BUILT: LazyLock<RwLock<HashMap<TypeId, &'static Schema>>> = LazyLock::new(RwLock::default);
        let type_id = TypeId::of::<T>();
        let built = BUILT
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&type_id)
            .copied();
        built.unwrap_or_else(|| {
            let mut built = BUILT.write().unwrap_or_else(PoisonError::into_inner);
            // Leaks one schema for each type that is ever asked for.
            built
                .entry(type_id)
                .or_insert_with(|| Box::leak(Box::new(Self::new(schema_of::<T>()))))
        })
    }

    /// The schema of the configs of runs of `recipe`.
    pub fn of_runs(recipe: &dyn Recipe) -> Self {
        let mut document = schema_of::<RunConfig>();
        let mut parameters = recipe.parameters_schema();
        if let Some(object) = parameters.as_object_mut() {
            object.remove("$schema");
        }
        document["properties"]["parameters"] = parameters;
        if recipe.capabilities().stages
            && let Some(required) = document["required"].as_array_mut()
        {
            required.retain(|field| field != "steps");
            document["properties"]["steps"]["description"] =
                json!("Steps to run. They follow from the stages in the parameters, so leave this out.");
        }
        document["properties"]["recipe"] = json!({
            "type": "string",
            "const": recipe.name(),
            "description": recipe.summary(),
        });
        Self::new(document)
    }

    /// The schema itself.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Every violation in `instance`, in document order.
    pub fn diagnose(&self, instance: &Value) -> Vec<Fault> {
        match &self.validator {
            Ok(validator) => validator
                .iter_errors(instance)
                .flat_map(|error| faults(&error, &self.document))
                .collect(),
            Err(error) => vec![Fault::new("", format!("the schema itself is invalid: {error}"))],
        }
    }
}

/// The JSON Schema of `T`, without references. The `default` of a field in a group is what the field is if it alone is left
/// out, whatever the group's default elsewhere.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    settle(&mut schema);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_built_once() {
        assert!(std::ptr::eq(Schema::of::<RunConfig>(), Schema::of::<RunConfig>()));
        assert!(!std::ptr::eq(
            Schema::of::<RunConfig>(),
            Schema::of::<crate::config::MemberGroup>()
        ));
    }

    #[test]
    fn a_schema_that_is_not_valid_is_a_fault_of_every_document() {
        let wrong = Schema::new(json!({"type": 3}));
        assert!(wrong.diagnose(&json!({}))[0].detail.contains("itself is invalid"));
    }
}
