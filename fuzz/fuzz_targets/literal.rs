//! Answers of models: read or refused, and what is read can be spelled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_fuzz::reads_back;
use lyceum_verifier::literal::{parse_arguments, parse_literal};

fuzz_target!(|text: &str| {
    if let Ok(value) = parse_literal(text) {
        reads_back(&value);
    }
    if let Ok(arguments) = parse_arguments(text) {
        assert!(!arguments.to_source().contains('\n'), "a call's arguments stand on one line of source");
    }
});
