//! The experiments of `configs/experiments`: every arm is a config that its recipe accepts, and every outcome is about arms and
//! measures that there are.

use lyceum_core::config::{self, apply_overrides};
use lyceum_core::recipe::Registry;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../configs", name].iter().collect()
}

fn read(path: &std::path::Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn experiments() -> BTreeMap<String, Value> {
    let files = fs::read_dir(folder("experiments")).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), read(&path))).collect()
}

fn overrides(table: &Value) -> BTreeMap<String, Value> {
    let table = table.as_object().into_iter().flatten();
    table.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The config of an arm as `script/results` makes it.
fn config_of(experiment: &Value, arm: &Value, more: &Value) -> Value {
    let preset = arm["preset"].as_str().unwrap();
    let mut document = read(&folder("runs").join(format!("{preset}.toml")));
    document["benchmarks"] = Value::Null;
    let mut all = overrides(&experiment["common"]);
    all.extend(overrides(more));
    all.extend(overrides(&arm["overrides"]));
    if let Some(base) = experiment["base"].as_str() {
        all.insert("populations.main.base_model.name".to_owned(), json!(base));
    }
    apply_overrides(&mut document, &all).unwrap();
    document
}

#[test]
fn every_arm_is_a_config_that_its_recipe_accepts() {
    let registry = Registry::shipped();
    for (name, experiment) in experiments() {
        let arms = experiment["arms"].as_object().unwrap();
        for (arm, spec) in arms.iter().filter(|(_, spec)| spec["matches"].is_null()) {
            for more in [&Value::Null, &experiment["try"]] {
                let document = config_of(&experiment, spec, more);
                if let Err(faults) = config::resolve(&document, &registry) {
                    panic!("{name}, arm {arm}: {faults}");
                }
            }
        }
    }
}

#[test]
fn outcomes_are_about_arms_and_metrics_that_there_are() {
    let registry = Registry::shipped();
    for (name, experiment) in experiments() {
        let arms = experiment["arms"].as_object().unwrap();
        for outcome in experiment["outcomes"].as_array().into_iter().flatten() {
            let text = outcome["text"].as_str().unwrap();
            let arm = outcome["arm"].as_str().unwrap();
            let against = outcome["against"].as_str().unwrap_or("base");
            for named in [arm, against] {
                assert!(
                    arms.contains_key(named) || ["base", "nothing", "control"].contains(&named),
                    "{name}: {text}: no arm {named}"
                );
            }
            let Some((_, metric)) = outcome["measure"].as_str().unwrap().split_once(" of ") else { continue };
            let document = config_of(&experiment, &arms[arm], &Value::Null);
            let recipe = registry.get(document["recipe"].as_str().unwrap()).unwrap();
            assert!(recipe.metric_names().contains(&metric), "{name}: {text}: no metric {metric}");
        }
    }
}

/// The arms of SAGE's Table 3, and what it leaves out, differ from the whole in one field each.
#[test]
fn each_ablation_of_sage_changes_one_thing() {
    let experiment = &experiments()["sage"];
    let registry = Registry::shipped();
    let resolved = |arm: &str| {
        let document = config_of(experiment, &experiment["arms"][arm], &Value::Null);
        config::resolve(&document, &registry).unwrap().parameters
    };
    let full = resolved("full");
    for (arm, field, value) in [
        ("no-challenger-training", "frozen", json!(["challenger"])),
        ("no-solver-training", "frozen", json!(["solver"])),
        ("no-critic-training", "frozen", json!(["critic"])),
        ("no-planner-training", "frozen", json!(["planner"])),
        ("no-planner", "planning", json!(false)),
        ("no-filter", "question_threshold", json!(0.0)),
    ] {
        let mut ablated = resolved(arm);
        assert_eq!(ablated[field], value, "{arm}");
        ablated[field] = full[field].clone();
        // A run without plans has no templates for them.
        ablated["prompts"] = full["prompts"].clone();
        assert_eq!(ablated, full, "{arm}");
    }
}
