//! What the targets ask of values.

use lyceum_verifier::Comparison;
use lyceum_verifier::literal::parse_literal;
use lyceum_verifier::value::Value;

/// What was spelled is read back as itself.
pub fn reads_back(value: &Value) {
    let spelled = value.to_string();
    let read = parse_literal(&spelled).unwrap_or_else(|error| panic!("{spelled}: {error}"));
    // CPython's repr of a complex number loses the sign of a part that is zero: `-1j` is read as `(-0-1j)`.
    if !spelled.contains('j') {
        assert!(Comparison::Strict.equal(value, &read), "{spelled}");
    } else if !spelled.contains("nan") {
        assert!(Comparison::Python.equal(value, &read), "{spelled}");
    }
}
