//! JSON Schemas with their validators, each built once.

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use super::RunConfig;
use super::diagnose::faults;
use crate::contract::Recipe;
use crate::fault::Fault;

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

    /// The schema of `T`, built when it is first needed.
    pub fn of<T: JsonSchema + 'static>() -> &'static Self {
        static BUILT: LazyLock<RwLock<HashMap<TypeId, &'static Schema>>> = LazyLock::new(RwLock::default);
        let type_id = TypeId::of::<T>();
        let built = BUILT.read().unwrap_or_else(PoisonError::into_inner).get(&type_id).copied();
        built.unwrap_or_else(|| {
            let mut built = BUILT.write().unwrap_or_else(PoisonError::into_inner);
            // Leaks one schema for each type that is ever needed.
            built.entry(type_id).or_insert_with(|| Box::leak(Box::new(Self::new(schema_of::<T>()))))
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
            Ok(validator) => validator.iter_errors(instance).flat_map(|error| faults(&error, &self.document)).collect(),
            Err(error) => vec![Fault::new("", format!("the schema itself is invalid: {error}"))],
        }
    }
}

/// The JSON Schema of `T`, without references. The `default` of a field in a group is what the field is if it alone is left
/// out, whatever the group's default elsewhere.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    settle(&mut schema);
    schema
}

// Defaults of fields in groups. A recipe may have other defaults for a group than the group has elsewhere: R-Zero's
// `learning` is not RLVR's. They hold for each field of the group, whether a config leaves out all of them or some.

/// Gives each field of a group with a default the value that it has there, at any depth.
fn settle(schema: &mut Value) {
    if let Some(alternatives) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        alternatives.iter_mut().for_each(settle);
    }
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for field in fields.values_mut() {
            hand_down(field);
            settle(field);
        }
    }
}

fn hand_down(group: &mut Value) {
    let default = group.get("default").and_then(Value::as_object).cloned();
    let Some(fields) = group.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, value) in default.into_iter().flatten() {
        if let Some(field) = fields.get_mut(&name).and_then(Value::as_object_mut) {
            field.insert("default".to_owned(), value);
        }
    }
}

/// Fills in what `document`, which is valid by a settled `schema`, leaves out of the schema's fields. Lists and maps are
/// taken as they are, and so is null.
pub(crate) fn fill_in(document: &mut Value, schema: &Value) {
    let (Some(given), Some(fields)) = (document.as_object_mut(), fields_of(schema)) else { return };
    for (name, field) in fields {
        match (given.get_mut(name), field.get("default")) {
            (Some(value), _) => fill_in(value, field),
            (None, Some(default)) => {
                given.insert(name.clone(), default.clone());
            }
            (None, None) => {}
        }
    }
}

/// Leaves out the nulls that [`fill_in`] would not replace by another default.
pub(crate) fn leave_out_nulls(document: &mut Value, schema: &Value) {
    let Some(given) = document.as_object_mut() else { return };
    let field = |name: &str| fields_of(schema)?.get(name);
    let is_default = |name: &str| field(name).is_none_or(|field| field["default"].is_null());
    given.retain(|name, value| !(value.is_null() && is_default(name)));
    for (name, value) in given {
        leave_out_nulls(value, field(name).unwrap_or(&Value::Null));
    }
}

/// The fields of a group, which may be optional; `None` for anything else.
fn fields_of(schema: &Value) -> Option<&Map<String, Value>> {
    if let Some(fields) = schema.get("properties") {
        return fields.as_object();
    }
    let alternatives = schema.get("anyOf")?.as_array()?.iter();
    let mut groups = alternatives.filter_map(|alternative| alternative.get("properties")?.as_object());
    let only = groups.next()?;
    groups.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_schema_is_built_once() {
        assert!(std::ptr::eq(Schema::of::<RunConfig>(), Schema::of::<RunConfig>()));
        assert!(!std::ptr::eq(Schema::of::<RunConfig>(), Schema::of::<crate::config::MemberGroup>()));
    }

    #[test]
    fn a_schema_that_is_not_valid_is_a_fault_of_every_document() {
        let wrong = Schema::new(json!({"type": 3}));
        assert!(wrong.diagnose(&json!({}))[0].detail.contains("itself is invalid"));
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Inner {
        rate: f32,
        size: u32,
        limit: Option<f64>,
        names: Vec<String>,
        shares: BTreeMap<String, f64>,
    }

    impl Default for Inner {
        fn default() -> Self {
            Self {
                rate: 0.5,
                size: 1,
                limit: Some(3.0),
                names: vec!["a".to_owned(), "b".to_owned()],
                shares: BTreeMap::from([("x".to_owned(), 1.0)]),
            }
        }
    }

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Middle {
        inner: Inner,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Outer {
        required: u32,
        #[serde(default = "middle")]
        middle: Middle,
        #[serde(default)]
        optional: Option<Middle>,
    }

    /// The group as the outer one has it: with another rate and size.
    fn middle() -> Middle {
        Middle { inner: Inner { rate: 0.1, size: 32, ..Inner::default() } }
    }

    fn filled(mut document: Value) -> Outer {
        fill_in(&mut document, &schema_of::<Outer>());
        Outer::deserialize(document).unwrap()
    }

    #[test]
    fn a_group_that_is_given_in_part_keeps_its_other_defaults() {
        let whole = filled(json!({"required": 1}));
        assert_eq!((whole.middle.clone(), whole.optional), (middle(), None));
        for part in [json!({}), json!({"inner": {}}), json!({"inner": {"size": 32}})] {
            assert_eq!(filled(json!({"required": 1, "middle": part})).middle, middle());
        }
        let other = filled(json!({"required": 1, "middle": {"inner": {"size": 7}}})).middle.inner;
        assert_eq!((other.size, other.rate), (7, 0.1));
        let optional = filled(json!({"required": 1, "optional": {"inner": {"size": 7}}}));
        assert_eq!(optional.optional.unwrap().inner.rate, 0.5, "its own");
    }

    #[test]
    fn lists_and_maps_and_null_replace() {
        let given = json!({"names": ["c"], "shares": {"y": 2.0}, "limit": null});
        let inner = filled(json!({"required": 1, "middle": {"inner": given}})).middle.inner;
        assert_eq!(inner.names, ["c"]);
        assert_eq!(inner.shares, BTreeMap::from([("y".to_owned(), 2.0)]));
        assert_eq!(inner.limit, None);
    }

    #[test]
    fn null_is_left_out_where_it_is_what_a_missing_field_means() {
        let mut outer = filled(json!({"required": 1, "optional": {}}));
        for group in [Some(&mut outer.middle), outer.optional.as_mut()].into_iter().flatten() {
            group.inner.limit = None;
        }
        let schema = schema_of::<Outer>();
        let mut written = serde_json::to_value(&outer).unwrap();
        leave_out_nulls(&mut written, &schema);
        assert_eq!(filled(written), outer);
        outer.optional = None;
        let mut written = serde_json::to_value(&outer).unwrap();
        leave_out_nulls(&mut written, &schema);
        assert!(written.get("optional").is_none(), "{written}");
    }

    #[test]
    fn a_schema_says_what_a_field_is_if_it_is_left_out() {
        let schema = schema_of::<Outer>();
        let default = |pointer: &str| schema.pointer(pointer).unwrap()["default"].clone();
        let inner = "/properties/middle/properties/inner";
        assert_eq!(default(&format!("{inner}/properties/size")), 32);
        assert_eq!(default(inner)["size"], 32);
    }

    #[test]
    fn what_is_not_a_group_stays_as_it_is() {
        let tagged = |tag: &str| json!({"properties": {"type": {"const": tag}, "n": {"default": 1}}});
        let schema = json!({"properties": {"choice": {"anyOf": [tagged("a"), tagged("b")], "default": {"type": "a"}}}});
        let mut document = json!({"choice": {"type": "b"}});
        fill_in(&mut document, &schema);
        assert_eq!(document, json!({"choice": {"type": "b"}}));
        for other in [json!(null), json!([1]), json!("text")] {
            let mut same = other.clone();
            fill_in(&mut same, &schema);
            assert_eq!(same, other);
        }
    }
}
