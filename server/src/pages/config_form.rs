//! The form of a run config, generated from its JSON Schema.

use lyceum_core::config::pointer_token;
use serde_json::Value;

/// A line of the form. Groups are opened and closed by lines, for templates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// The start of a group.
    Open {
        /// Its title.
        title: String,
        /// The schema's description.
        about: String,
        /// The number of enclosing groups.
        depth: usize,
    },
    /// The end of a group.
    Close,
    /// A field.
    Field(Field),
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The dotted path of the value.
    pub(crate) path: String,
    /// The JSON pointer of the value, as in faults.
    pub(crate) pointer: String,
    /// The last part of the path.
    pub(crate) label: String,
    /// The schema's description.
    pub(crate) about: String,
    /// Its value, as text.
    pub(crate) value: String,
    /// Its kind of input.
    pub(crate) input: Input,
    /// Whether it may be empty, meaning null.
    pub(crate) optional: bool,
    /// The valid range, if the schema has one.
    pub(crate) range: Option<String>,
}

impl Field {
    /// Whether it needs a whole row.
    pub(crate) fn is_wide(&self) -> bool {
        matches!(self.input, Input::Items { .. } | Input::Texts(_))
    }
}

/// A text in one line: line ends and other control characters as JSON has them.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted[1..quoted.len() - 1].replace("\\\"", "\"")
}

/// A kind of input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// A number.
    Number,
    /// One line of text.
    Text,
    /// Several lines of text.
    Lines,
    /// A checkbox.
    Check,
    /// One of these values, with their descriptions.
    Choice(Vec<(String, String)>),
    /// Any of these values, with their descriptions; whether each is in the list.
    Several(Vec<(String, String, bool)>),
    /// A list of texts.
    Texts(Vec<String>),
    /// A list of objects: the fields of each, and those of one that is added.
    Items {
        /// Each in the list.
        items: Vec<Vec<Field>>,
        /// An empty one.
        added: Vec<Field>,
    },
    /// JSON: any other list or object.
    Json,
}

/// Whether the field at `path` is derived from others or filled in by the recipe.
fn is_left_out(path: &str) -> bool {
    ["recipe", "parameters.prompts.hashes"].contains(&path) || path.ends_with(".vocabulary_mask")
}

/// The lines of the form for `config`, which must be valid under `schema`.
pub(crate) fn lines_of(schema: &Value, config: &Value) -> Vec<Line> {
    let mut lines = vec![Line::Open {
        title: "length and seed".to_owned(),
        about: String::new(),
        depth: 0,
    }];
    for name in ["seed", "steps"] {
        lines.extend(field(name, name, &schema["properties"][name], &config[name]));
    }
    lines.push(Line::Close);
    for name in ["populations", "parameters", "compute", "programs", "scheduling"] {
        object(&mut lines, name, name, &schema["properties"][name], &config[name], 0);
    }
    // A run without a schedule shows the fields of one, empty.
    let benchmarks = present(&schema["properties"]["benchmarks"]);
    object(
        &mut lines,
        "benchmarks",
        "held-out measurement",
        benchmarks,
        &config["benchmarks"],
        0,
    );
    lines
}

fn object(lines: &mut Vec<Line>, path: &str, title: &str, schema: &Value, value: &Value, depth: usize) {
    let before = lines.len();
    lines.push(Line::Open {
        title: title.replace('_', " "),
        about: about(schema),
        depth,
    });
    let begun = lines.len();
    let known = schema["properties"].as_object();
    let (mut plain, mut nested) = (Vec::new(), Vec::new());
    let named = known.into_iter().flatten();
    let entries = value.as_object().into_iter().flatten();
    let free = entries
        .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
        .map(|(name, _)| (name, &schema["additionalProperties"]));
    for (name, schema) in named.chain(free) {
        let inner = format!("{path}.{name}");
        if is_left_out(&inner) {
            continue;
        }
        if is_object(schema) && !value[name].is_null() {
            object(&mut nested, &inner, name, schema, &value[name], depth + 1);
        } else {
            plain.extend(field(&inner, name, schema, &value[name]));
        }
    }
    lines.append(&mut plain);
    lines.append(&mut nested);
    if lines.len() == begun {
        lines.truncate(before);
    } else {
        lines.push(Line::Close);
    }
}

/// What `schema` says of values other than null.
fn present(schema: &Value) -> &Value {
    let variants = schema["anyOf"].as_array().into_iter().flatten();
    let mut others = variants.filter(|variant| variant["type"] != "null");
    match (others.next(), others.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// Whether values of `schema` are objects.
fn is_object(schema: &Value) -> bool {
    schema["properties"].is_object() || schema["additionalProperties"].is_object()
}

fn field(path: &str, name: &str, schema: &Value, value: &Value) -> Option<Line> {
    if schema.is_null() {
        return None;
    }
    let has = |kind: &str| match &schema["type"] {
        Value::String(one) => one == kind,
        Value::Array(several) => several.iter().any(|one| one == kind),
        _ => false,
    };
    let choices = choices(schema);
    let list = list(schema, value);
    let input = match value {
        _ if !choices.is_empty() => Input::Choice(choices),
        _ if list.is_some() => list.unwrap_or(Input::Json),
        Value::Array(_) | Value::Object(_) => Input::Json,
        _ if has("array") || has("object") || is_object(schema) => Input::Json,
        _ if has("boolean") => Input::Check,
        _ if has("integer") || has("number") => Input::Number,
        Value::String(text) if text.contains('\n') || text.len() > 60 => Input::Lines,
        _ => Input::Text,
    };
    let shown = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(Line::Field(Field {
        pointer: path
            .split('.')
            .map(|part| format!("/{}", pointer_token(part)))
            .collect(),
        path: path.to_owned(),
        label: name.replace('_', " "),
        about: about(schema),
        optional: has("null") || value.is_null(),
        range: range(schema),
        value: shown,
        input,
    }))
}

/// The editor of a list; `None` if its elements have none.
fn list(schema: &Value, value: &Value) -> Option<Input> {
    let item = present(&schema["items"]);
    let entries: &[Value] = match value {
        Value::Array(entries) => entries,
        Value::Null => &[],
        _ => return None,
    };
    if !item.is_object() {
        return None;
    }
    let choices = choices(item);
    let texts: Option<Vec<&str>> = entries.iter().map(Value::as_str).collect();
    if !choices.is_empty() {
        let texts = texts?;
        let several = choices.into_iter().map(|(name, meaning)| {
            let is_in = texts.contains(&name.as_str());
            (name, meaning, is_in)
        });
        return Some(Input::Several(several.collect()));
    }
    // Suites are names or objects; those that are names alone have the simple editor.
    let has_text = item["type"] == "string"
        || item["anyOf"]
            .as_array()
            .is_some_and(|variants| variants.iter().any(|variant| variant["type"] == "string"));
    if has_text {
        return texts.map(|texts| Input::Texts(texts.into_iter().map(str::to_owned).collect()));
    }
    let known = item["properties"].as_object()?;
    let fields = |value: &Value| -> Vec<Field> {
        let each = known
            .iter()
            .filter_map(|(name, schema)| match field(name, name, schema, &value[name]) {
                Some(Line::Field(field)) => Some(field),
                _ => None,
            });
        each.collect()
    };
    let is_plain = |field: &Field| {
        matches!(
            field.input,
            Input::Number | Input::Text | Input::Several(_) | Input::Choice(_)
        )
    };
    let added = fields(&Value::Null);
    let items: Vec<Vec<Field>> = entries.iter().map(fields).collect();
    let all_plain = added.iter().chain(items.iter().flatten()).all(is_plain);
    all_plain.then_some(Input::Items { items, added })
}

fn about(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The values listed by a schema, with their descriptions. Null is represented by an empty field.
fn choices(schema: &Value) -> Vec<(String, String)> {
    let variants = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema[*key].as_array())
        .flatten();
    let mut found = Vec::new();
    for variant in variants {
        if let Some(name) = variant["const"].as_str() {
            found.push((name.to_owned(), about(variant)));
        } else {
            found.extend(choices(variant));
        }
    }
    found
}

fn range(schema: &Value) -> Option<String> {
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Number(least), Value::Number(most)) => Some(format!("{least} to {most}")),
        (Value::Number(least), _) => Some(format!("{least} or more")),
        (_, Value::Number(most)) => Some(format!("{most} or less")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Presets;
    use lyceum_core::{config::resolve, recipe::Registry};

    #[test]
    fn every_preset_has_a_form_that_opens_and_closes_and_names_each_field_once() {
        let registry = Registry::shipped();
        for preset in Presets::new(None).all().unwrap() {
            let config = resolve(&preset.config, &registry).unwrap();
            let schema = registry.config_schema(&config.recipe).unwrap();
            let lines = lines_of(schema.document(), &serde_json::to_value(&config).unwrap());
            let mut open = 0_i32;
            let mut paths = Vec::new();
            for line in &lines {
                match line {
                    Line::Open { .. } => open += 1,
                    Line::Close => open -= 1,
                    Line::Field(field) => paths.push(field.path.clone()),
                }
                assert!(open >= 0);
            }
            assert_eq!(open, 0);
            assert!(paths.len() > 40, "{}: {paths:?}", preset.name);
            let distinct: std::collections::BTreeSet<_> = paths.iter().collect();
            assert_eq!(distinct.len(), paths.len(), "{}: {paths:?}", preset.name);
            let learning: &[&str] = match config.recipe.as_str() {
                "rzero" => &["proposer.learning", "solver.learning"],
                _ => &["learning"],
            };
            let rates = learning
                .iter()
                .map(|learning| format!("parameters.{learning}.optimizer.learning_rate"));
            let ranks = config
                .populations
                .keys()
                .map(|population| format!("populations.{population}.lora.r"));
            for wanted in ["seed".to_owned(), "steps".to_owned()]
                .into_iter()
                .chain(rates)
                .chain(ranks)
            {
                assert!(paths.contains(&wanted), "{wanted} in {}: {paths:?}", preset.name);
            }
        }
    }

    #[test]
    fn a_dataset_is_named_by_either_of_two_fields_that_can_be_empty() {
        let registry = Registry::shipped();
        let preset = Presets::new(None).get("rlvr-seedling").unwrap();
        let config = resolve(&preset.config, &registry).unwrap();
        let schema = registry.config_schema(&config.recipe).unwrap();
        let lines = lines_of(schema.document(), &serde_json::to_value(&config).unwrap());
        let shown = |path: &str| {
            let mut fields = lines.iter().filter_map(|line| match line {
                Line::Field(field) if field.path == path => Some(field),
                _ => None,
            });
            let field = fields.next().unwrap();
            assert!(field.optional && field.input == Input::Text, "{field:?}");
            field.value.clone()
        };
        assert_eq!(shown("parameters.dataset.name"), "seedling-training");
        assert_eq!(shown("parameters.dataset.id"), "");
    }

    fn preset_lines(name: &str) -> Vec<Line> {
        let registry = Registry::shipped();
        let preset = Presets::new(None).get(name).unwrap();
        let config = resolve(&preset.config, &registry).unwrap();
        let schema = registry.config_schema(&config.recipe).unwrap();
        lines_of(schema.document(), &serde_json::to_value(&config).unwrap())
    }

    fn input_of<'a>(lines: &'a [Line], path: &str) -> &'a Input {
        let mut fields = lines.iter().filter_map(|line| match line {
            Line::Field(field) if field.path == path => Some(&field.input),
            _ => None,
        });
        fields.next().unwrap_or_else(|| panic!("{path} is not in the form"))
    }

    #[test]
    fn lists_have_editors() {
        let lines = preset_lines("demo");
        let Input::Items { items, added } = input_of(&lines, "populations.main.members") else {
            panic!("members are a list of objects");
        };
        assert_eq!(
            added.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(),
            ["roles", "count"]
        );
        let Input::Several(roles) = &items[0][0].input else {
            panic!("roles are chosen from a list");
        };
        let chosen: Vec<&str> = roles.iter().filter(|role| role.2).map(|role| role.0.as_str()).collect();
        assert_eq!(chosen, ["teacher"], "the first members are teachers");
        assert!(matches!(input_of(&lines, "parameters.problems.types"), Input::Several(types) if types.len() >= 3));
        assert!(matches!(
            input_of(&lines, "populations.main.lora.target_modules"),
            Input::Several(_)
        ));
        let left: Vec<&str> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Field(field) if field.input == Input::Json => Some(field.path.as_str()),
                _ => None,
            })
            .collect();
        assert!(
            left.iter().all(
                |path| !["members", "types", "target_modules", "stop", "roles", "operators"]
                    .iter()
                    .any(|name| path.ends_with(name))
            ),
            "{left:?} are JSON"
        );
    }

    #[test]
    fn a_run_without_a_schedule_can_be_given_one() {
        let lines = preset_lines("populora-8t8s-qwen2.5-coder-7b");
        assert_eq!(input_of(&lines, "benchmarks.suites"), &Input::Texts(Vec::new()));
        assert_eq!(input_of(&lines, "benchmarks.every"), &Input::Number);
        assert_eq!(input_of(&lines, "benchmarks.at_start"), &Input::Check);
        assert!(matches!(input_of(&lines, "benchmarks.roles"), Input::Several(_)));
    }

    #[test]
    fn a_field_says_what_is_valid() {
        let schema =
            serde_json::json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9, "description": "How\nmany."});
        let Some(Line::Field(field)) = field("a.b/c", "b/c", &schema, &Value::Null) else {
            panic!("a field");
        };
        assert_eq!(
            (field.pointer.as_str(), field.range.as_deref()),
            ("/a/b~1c", Some("1 to 9"))
        );
        assert!(field.optional && field.input == Input::Number && field.about == "How many.");
    }
}
