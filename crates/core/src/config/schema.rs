//! The JSON Schema of a run config.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Value, json};

use super::RunConfig;
use crate::recipe::Recipe;

/// The JSON Schema (2020-12) of `T`, without references, so that a fault can be looked up in it by its path.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// The schema of a run config with the parameters of `recipe`; without a recipe, parameters are unconstrained.
pub fn run_schema(recipe: Option<&dyn Recipe>) -> Value {
    let mut schema = schema_of::<RunConfig>();
    if let Some(recipe) = recipe {
        let mut parameters = recipe.parameters_schema();
        if let Some(object) = parameters.as_object_mut() {
            object.remove("$schema");
        }
        schema["properties"]["parameters"] = parameters;
        schema["properties"]["recipe"] = json!({
            "type": "string",
            "const": recipe.name(),
            "description": recipe.summary(),
        });
    }
    schema
}
