//! Items of work and their results, as a worker and the coordinator read them: refused, or written and read again as themselves.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_core::work::{Outcome, Payload, Requirements, WorkKey};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn read<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_vec(&value).expect("what was read is written");
    let again: T = serde_json::from_slice(&written).unwrap_or_else(|error| panic!("{error}: {value:?}"));
    assert_eq!(again, value, "what was written is read as itself");
    Some(value)
}

fuzz_target!(|bytes: &[u8]| {
    if let Some(payload) = read::<Payload>(bytes) {
        assert_eq!(payload.base_model().is_none(), payload.kind().name() == "verify");
    }
    let _ = read::<Outcome>(bytes);
    let _ = read::<Requirements>(bytes);
    let _ = read::<WorkKey>(bytes);
});
