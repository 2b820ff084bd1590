//! Answers of models: read or refused, and what is read is written and read again as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lyceum_verifier::{
    Comparison,
    literal::{parse_arguments, parse_literal},
};

fuzz_target!(|text: &str| {
    if let Ok(value) = parse_literal(text) {
        assert!(value.has_literal(), "what was read can be written");
        let source = value.to_source();
        let read = parse_literal(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert!(Comparison::Strict.equal(&value, &read), "{source}");
    }
    if let Ok(arguments) = parse_arguments(text) {
        let source = arguments.to_source();
        let read = parse_arguments(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(read.to_source(), source);
    }
});
