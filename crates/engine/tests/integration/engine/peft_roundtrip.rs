//! Loads the engine's output with the real peft: needs a Python with torch, transformers and peft in
//! `LYCEUM_PEER_PYTHON`, skipped without.

use std::process::Command;

use lyceum_engine::merge::merge;
use lyceum_engine::peft::write_member;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score};
use serde_json::{Value, json};

use crate::engine::fixtures::{
    FULL_SET, Golden, MODELS, OTHERS, STACKED, adapter_folder, folder, model, model_folder, population,
};

#[test]
fn peft_loads_what_the_engine_writes() {
    let Some(python) = std::env::var_os("LYCEUM_PEER_PYTHON") else {
        eprintln!("skipped: LYCEUM_PEER_PYTHON names no Python with torch, transformers and peft");
        return;
    };
    let target = tempfile::tempdir().unwrap();
    let mut cases: Vec<Value> = Vec::new();
    for name in MODELS {
        let (model, golden) = (model(name), Golden::of(name));
        let mut adapters = STACKED.to_vec();
        if FULL_SET.contains(&name) {
            adapters.extend(OTHERS);
        }
        for adapter in adapters {
            let written = target.path().join(format!("{name}-{adapter}"));
            let merged = target.path().join(format!("{name}-{adapter}-merged"));
            let single = population(&model, name, &[adapter]);
            write_member(&single, 0, name, &written).unwrap();
            merge(&model_folder(name), &adapter_folder(name, adapter), &merged).unwrap();
            let requests: Vec<_> =
                golden.sequences().into_iter().map(|ids| ScoreRequest { ids, adapter: Some(0) }).collect();
            let options = ScoreOptions { last_logits: true, ..ScoreOptions::default() };
            let scores = score(&model, Some(&single), &requests, options).unwrap();
            let sequences: Vec<Value> = requests
                .iter()
                .zip(scores)
                .map(|(request, score)| json!({"ids": request.ids, "last_logits": score.last_logits}))
                .collect();
            let name = format!("{name} {adapter}");
            cases
                .push(json!({"name": name, "model": model_folder(name.split(' ').next().unwrap()), "adapter": written,
                "sequences": sequences}));
            cases.push(
                json!({"name": format!("{name} merged"), "model": merged, "adapter": null, "sequences": sequences}),
            );
        }
    }
    let file = target.path().join("cases.json");
    std::fs::write(&file, serde_json::to_string(&cases).unwrap()).unwrap();
    let script = folder().parent().unwrap().join("peft_roundtrip.py");
    let output = Command::new(python).arg(script).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
