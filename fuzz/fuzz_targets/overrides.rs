//! Values that override a preset: refused with reasons, or a config that resolves to itself.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use lyceum_core::config::{apply_overrides, resolve};
use lyceum_core::recipe::Registry;
use serde_json::Value;

const PRESETS: [&str; 4] = [
    include_str!("../../configs/runs/demo.toml"),
    include_str!("../../configs/runs/azr-seedling.toml"),
    include_str!("../../configs/runs/rzero-seedling-math-dropout.toml"),
    include_str!("../../configs/runs/sage-seedling-math.toml"),
];

static DOCUMENTS: LazyLock<Vec<Value>> =
    LazyLock::new(|| PRESETS.map(|text| toml::from_str(text).expect("a preset is TOML")).to_vec());
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::shipped);

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let Ok(overrides) = serde_json::from_str::<BTreeMap<String, Value>>(text) else { return };
    let mut document = DOCUMENTS[usize::from(choice) % PRESETS.len()].clone();
    let resolved = apply_overrides(&mut document, &overrides).and_then(|()| resolve(&document, &REGISTRY));
    match resolved {
        Ok(config) => {
            let written = serde_json::to_value(&config).expect("a config is written");
            let again = resolve(&written, &REGISTRY).unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(again, config, "a resolved config resolves to itself");
        }
        Err(faults) => assert!(!faults.0.is_empty() && faults.0.iter().all(|fault| !fault.detail.is_empty())),
    }
});
