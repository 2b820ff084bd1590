//! Why an answer is right or wrong, in the words of the page.

use lyceum_core::problem::Values;
use serde::Deserialize as _;
use serde_json::Value;
use std::borrow::Cow;

/// `reason` with the number that the page gives to an input. Verdicts count the pairs that a solver does not see, from 0;
/// the page counts all inputs, from 1.
pub(super) fn numbered_as_shown<'a>(reason: &'a str, values: Option<&Value>) -> Cow<'a, str> {
    let told = reason
        .strip_prefix("pair ")
        .and_then(|rest| rest.split_once(':'))
        .and_then(|(pair, why)| Some((pair.parse::<usize>().ok()?, why)));
    let shown = values.and_then(|values| match Values::deserialize(values).ok()? {
        Values::Function { shown, .. } => Some(shown),
        _ => None,
    });
    match (told, shown) {
        (Some((pair, why)), Some(shown)) => Cow::Owned(format!("input {}:{why}", shown.saturating_add(pair) + 1)),
        _ => Cow::Borrowed(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hidden_pair_has_the_number_of_its_input() {
        let function =
            json!({"inputs": ["1", "2", "3", "4"], "outputs": ["1", "2", "3", "4"], "message": "", "shown": 2});
        let of = |reason, values: &Value| numbered_as_shown(reason, Some(values)).into_owned();
        assert_eq!(of("pair 0: expected 3, got 4", &function), "input 3: expected 3, got 4");
        assert_eq!(of("pair 1: it took too long", &function), "input 4: it took too long");
        for reason in ["pair x: y", "pairs differ", "it took too long", ""] {
            assert_eq!(of(reason, &function), reason);
        }
        assert_eq!(of("pair 0: x", &json!({"input": "1"})), "pair 0: x");
        assert_eq!(numbered_as_shown("pair 0: x", None), "pair 0: x");
    }
}
