//! Numbers in a text.

use std::collections::BTreeSet;

/// The different numbers in a text, as written: digits, with a decimal part if a point and digits follow.
pub fn numbers(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let number = &rest[start..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut end = digits(number);
        let decimals = number[end..].strip_prefix('.').map_or(0, digits);
        if decimals > 0 {
            end += 1 + decimals;
        }
        found.insert(&number[..end]);
        rest = &number[end..];
    }
    found
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
