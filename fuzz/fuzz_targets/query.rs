//! Query strings: parameters of every kind that the server's lists take.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_core::config::parse_query;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::work::WorkKind;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read only for its faults")]
struct Asked {
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    cursor: Option<String>,
    run: Option<ExecutionId>,
    member: Option<MemberId>,
    kind: Option<WorkKind>,
    alive: Option<bool>,
    #[schemars(range(min = 0.0, max = 1.0))]
    at_least: Option<f64>,
    from: Option<i64>,
    #[serde(default)]
    words: String,
}

fuzz_target!(|query: &str| {
    match parse_query::<Asked>(query) {
        Ok(asked) => {
            assert!(asked.limit.is_none_or(|limit| (1..=100).contains(&limit)));
            assert!(asked.at_least.is_none_or(|share| (0.0..=1.0).contains(&share)));
            assert!(!asked.words.contains('\0'));
        }
        Err(faults) => assert!(!faults.0.is_empty() && faults.0.iter().all(|fault| !fault.detail.is_empty())),
    }
});
