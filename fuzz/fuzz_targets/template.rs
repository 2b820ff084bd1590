//! Prompt templates of users: refused with a reason, or rendered within their budgets.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use lyceum_core::prompt::{CODE_TEMPLATES, PromptConfig, PromptSet};

/// What a rendering gets for each variable that a recipe may name.
fn variables() -> BTreeMap<&'static str, &'static str> {
    let names = CODE_TEMPLATES.iter().flat_map(|template| template.variables);
    names.map(|variable| (variable.name, "1, 2")).collect()
}

fuzz_target!(|text: &str| {
    let given = PromptConfig {
        set: "seedling".to_owned(),
        templates: BTreeMap::from([("solve_code_o".to_owned(), text.to_owned())]),
        ..PromptConfig::default()
    };
    match given.resolve_for("/prompts", &CODE_TEMPLATES, |_| true) {
        Ok(resolved) => {
            assert_eq!(resolved.templates["solve_code_o"], text);
            let set = PromptSet::compile(&resolved).expect("what was accepted compiles");
            // A rendering may fail on values that the trial did not have, but it ends.
            let _ = set.render("solve_code_o", variables());
        }
        Err(faults) => assert!(!faults.is_empty() && faults.iter().all(|fault| !fault.detail.is_empty())),
    }
});
