//! The form of a run config, or of another document, generated from its JSON Schema.

mod field;

use serde_json::Value;

pub(crate) use self::field::{Field, Input, escaped};
use self::field::{about, field, is_object, present};

/// A line of the form. Groups are opened and closed by lines, for templates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Line {
    /// The start of a group.
    Open {
        title: String,
        /// The schema's description.
        about: String,
        /// The number of enclosing groups.
        depth: usize,
    },
    /// The end of a group.
    Close,
    Field(Field),
}

/// Whether the field at `path` is derived from others or filled in by the recipe.
fn is_left_out(path: &str) -> bool {
    ["recipe", "parameters.prompts.hashes", "from.artifact"].contains(&path) || path.ends_with(".vocabulary_mask")
}

/// The lines of the form for `config`, which must be valid under `schema`.
pub(crate) fn lines_of(schema: &Value, config: &Value) -> Vec<Line> {
    let mut lines = vec![Line::Open { title: "length and seed".to_owned(), about: String::new(), depth: 0 }];
    for name in ["seed", "steps"] {
        lines.extend(field(name, name, &schema["properties"][name], &config[name]));
    }
    lines.push(Line::Close);
    for name in ["populations", "parameters", "compute", "programs", "scheduling"] {
        object(&mut lines, name, name, &schema["properties"][name], &config[name], 0);
    }
    // A run without a schedule shows the fields of one, empty.
    let benchmarks = present(&schema["properties"]["benchmarks"]);
    object(&mut lines, "benchmarks", "held-out measurement", benchmarks, &config["benchmarks"], 0);
    lines
}

/// The lines of the form for `value`, the part at `path` of a document, which must be valid under `schema`.
pub(crate) fn lines_under(path: &str, title: &str, schema: &Value, value: &Value) -> Vec<Line> {
    let mut lines = Vec::new();
    object(&mut lines, path, title, schema, value, 0);
    // The page has told what the whole is.
    if let Some(Line::Open { about, .. }) = lines.first_mut() {
        about.clear();
    }
    lines
}

/// Whether the line at `index` ends an outermost group.
pub(crate) fn closes_card(lines: &[Line], index: &usize) -> bool {
    let depth: i32 = lines[..=*index]
        .iter()
        .map(|line| match line {
            Line::Open { .. } => 1,
            Line::Close => -1,
            Line::Field(_) => 0,
        })
        .sum();
    depth == 0 && matches!(lines[*index], Line::Close)
}

fn object(lines: &mut Vec<Line>, path: &str, title: &str, schema: &Value, value: &Value, depth: usize) {
    let before = lines.len();
    lines.push(Line::Open { title: title.replace('_', " "), about: about(schema), depth });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Presets;
    use lyceum_core::config::resolve;
    use lyceum_core::recipe::Registry;

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
            let rates = learning.iter().map(|learning| format!("parameters.{learning}.optimizer.learning_rate"));
            let ranks = config.populations.keys().map(|population| format!("populations.{population}.lora.r"));
            for wanted in ["seed".to_owned(), "steps".to_owned()].into_iter().chain(rates).chain(ranks) {
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
            ["roles", "count", "from.version", "from.adapter"]
        );
        let Input::Several(roles) = &items[0][0].input else {
            panic!("roles are chosen from a list");
        };
        let chosen: Vec<&str> = roles.iter().filter(|role| role.2).map(|role| role.0.as_str()).collect();
        assert_eq!(chosen, ["teacher"], "the first members are teachers");
        assert!(matches!(input_of(&lines, "parameters.problems.types"), Input::Several(types) if types.len() >= 3));
        assert!(matches!(input_of(&lines, "populations.main.lora.target_modules"), Input::Several(_)));
        let left: Vec<&str> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Field(field) if field.input == Input::Json => Some(field.path.as_str()),
                _ => None,
            })
            .collect();
        assert!(
            left.iter().all(|path| !["members", "types", "target_modules", "stop", "roles", "operators"]
                .iter()
                .any(|name| path.ends_with(name))),
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
}
