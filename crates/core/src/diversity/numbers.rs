//! Numbers in a text.

use std::{collections::BTreeSet, ops::Range};

/// The different numbers in a text, as written: digits, with a decimal part if a point and digits follow.
pub fn numbers(text: &str) -> BTreeSet<&str> {
    places(text).map(|place| &text[place]).collect()
}

/// The places of the numbers in a text, in order.
pub(super) fn places(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(|letter: char| letter.is_ascii_digit())?;
        let number = &text[start..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(number);
        let decimals = number[length..].strip_prefix('.').map_or(0, digits);
        if decimals > 0 {
            length += 1 + decimals;
        }
        from = start + length;
        Some(start..from)
    })
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn digits_and_decimals_are_numbers() {
        let found = |text| numbers(text).into_iter().collect::<Vec<_>>();
        assert_eq!(found("what is 12+3.50? It is 12."), ["12", "3.50"]);
        assert_eq!(found("x2 and 1.2.3"), ["1.2", "2", "3"]);
        assert!(found("none, é").is_empty());
    }
}
