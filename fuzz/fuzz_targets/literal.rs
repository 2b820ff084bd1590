//! Answers of models: read or refused, and what is read can be spelled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_fuzz::reads_back;
use lyceum_verifier::literal::{parse_arguments, parse_literal};

fuzz_target!(|text: &str| {
    // What is too large for a float is infinite, and then a complex number has no spelling.
    if let Ok(value) = parse_literal(text)
        && value.has_literal()
    {
        reads_back(&value);
    }
    if let Ok(arguments) = parse_arguments(text) {
        assert!(!arguments.to_source().contains('\n'), "a call's arguments stand on one line of source");
    }
});
