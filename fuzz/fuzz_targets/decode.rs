//! Bytes that a program claims to be its value: read or refused, and what is read has one spelling.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_verifier::{Comparison, literal::parse_literal, value::decode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = decode(bytes) else { return };
    assert!(Comparison::Strict.equal(&value, &value), "a value strictly equals itself");
    if value.has_literal() {
        let source = value.to_source();
        let read = parse_literal(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert!(Comparison::Strict.equal(&value, &read), "{source}");
    }
});
