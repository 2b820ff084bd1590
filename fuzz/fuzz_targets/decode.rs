//! Bytes that a program claims to be its value: read or refused, and what is read can be spelled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_fuzz::reads_back;
use lyceum_verifier::Comparison;
use lyceum_verifier::value::decode;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = decode(bytes) else { return };
    assert!(Comparison::Strict.equal(&value, &value), "a value strictly equals itself");
    if value.has_literal() {
        reads_back(&value);
    }
});
