use lyceum_core::{
    config::{self, apply_overrides},
    recipe::Registry,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::PathBuf};
fn folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../configs", name].iter().collect()
}
fn read(path: &std::path::Path) -> Value {
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
fn overrides(table: &Value) -> BTreeMap<String, Value> {
    table
        .as_object()
        .into_iter()
        .flatten()
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}
#[test]
fn dump() {
    let out = PathBuf::from(std::env::var("DUMP").unwrap());
    fs::create_dir_all(&out).unwrap();
    let registry = Registry::shipped();
    let save = |name: String, document: &Value| {
        let text = match config::resolve(document, &registry) {
            Ok(resolved) => serde_json::to_string_pretty(&serde_json::to_value(&resolved).unwrap()).unwrap(),
            Err(faults) => format!("FAULTS\n{faults}"),
        };
        fs::write(out.join(format!("{name}.json")), text).unwrap();
    };
    for entry in fs::read_dir(folder("runs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "toml") {
            continue;
        }
        save(
            format!("run.{}", path.file_stem().unwrap().to_string_lossy()),
            &read(&path),
        );
    }
    for entry in fs::read_dir(folder("experiments")).unwrap() {
        let path = entry.unwrap().path();
        let experiment = read(&path);
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        for (arm, spec) in experiment["arms"].as_object().unwrap() {
            let Some(preset) = spec["preset"].as_str() else {
                continue;
            };
            for (which, more) in [("full", &Value::Null), ("try", &experiment["try"])] {
                let mut document = read(&folder("runs").join(format!("{preset}.toml")));
                document["benchmarks"] = Value::Null;
                let mut all = overrides(&experiment["common"]);
                all.extend(overrides(more));
                all.extend(overrides(&spec["overrides"]));
                if let Some(base) = experiment["base"].as_str() {
                    all.insert("populations.main.base_model.name".to_owned(), json!(base));
                }
                apply_overrides(&mut document, &all).unwrap();
                save(format!("arm.{stem}.{arm}.{which}"), &document);
            }
        }
        // Filters of goalposts.
        for (at, filter) in experiment["goalposts"]["filters"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|f| f.as_array().unwrap())
            .enumerate()
        {
            let preset = filter["preset"].as_str().unwrap();
            let mut document = read(&folder("runs").join(format!("{preset}.toml")));
            apply_overrides(&mut document, &overrides(&filter["overrides"])).unwrap();
            save(format!("filter.{stem}.{at}"), &document);
        }
    }
}
