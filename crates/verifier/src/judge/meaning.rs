//! Compares parts of answers that Math-Verify drops or multiplies: bases, letters of words, units, halves of the day, dates, moduli, primes.

use num_bigint::BigInt;
use regex::Captures;

use super::notation::is_unit;
use crate::rational::Rational;

/// Whether two texts in common notation differ, or are equal, in something that Math-Verify does not see.
pub(super) fn compared(gold: &str, answer: &str) -> Option<bool> {
    if let (Some(gold), Some(answer)) = (Congruence::of(gold), Congruence::of(answer)) {
        return gold.equals(&answer);
    }
    let differ = of_both(gold, answer, base)
        || of_both(gold, answer, half_of_day)
        || of_both(gold, answer, mark)
        || date(gold) != date(answer)
        || are_other_words(gold, answer)
        || are_other_quantities(gold, answer)
        || !(gold.contains('=') || answer.contains('=')) && primes(gold) != primes(answer);
    differ.then_some(false)
}

/// Whether both have something, and it is not the same.
fn of_both<T: PartialEq>(gold: &str, answer: &str, of: impl Fn(&str) -> Option<T>) -> bool {
    matches!((of(gold), of(answer)), (Some(gold), Some(answer)) if gold != answer)
}

pattern!(BASE, r"[0-9][0-9A-Fa-f]*\}?_\{?\s*(?:\\(?:text|mathrm|rm)\{?\s*)?([0-9]+|[a-z]+)\s*\}{0,2}$");
const BASES: [&str; 17] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen",
];

/// The base in which a number is written.
fn base(text: &str) -> Option<usize> {
    let named = BASE.captures(text)?;
    named[1].parse().ok().or_else(|| BASES.iter().position(|name| *name == &named[1]))
}

pattern!(HALF_OF_DAY, r"[0-9]\s*(?:\\[a-z]+\{)?\s*([AaPp])\.?\s?[Mm]\b");

/// `a` or `p` of a time with AM or PM.
fn half_of_day(text: &str) -> Option<String> {
    Some(HALF_OF_DAY.captures(text)?[1].to_ascii_lowercase())
}

pattern!(MARK, r#"[0-9]\s*(\^\s*\{?\s*\\circ|\^\s*\{?\s*\\prime\s*\\prime|''|"|\^\s*\{?\s*\\prime|')"#);

/// Whether a number is one of degrees, minutes or seconds: 0, 1 or 2.
fn mark(text: &str) -> Option<usize> {
    let found = MARK.captures_iter(text).last()?;
    Some(match &found[1] {
        mark if mark.contains("circ") => 0,
        "''" | "\"" => 2,
        mark => mark.matches("prime").count().max(1),
    })
}

pattern!(DATE, r"^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})$|^([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})$");

/// The numbers of a date with dashes.
fn date(text: &str) -> Option<Vec<u32>> {
    let found = DATE.captures(text.trim())?;
    found.iter().skip(1).flatten().map(|part| part.as_str().parse().ok()).collect()
}

pattern!(PRIMED, r"[A-Za-z)]\s*((?:'|\^\s*\{?\s*(?:\\prime\s*)+\}?)+)(?:[^A-Za-z]|$)");

/// How often something is derived.
fn primes(text: &str) -> usize {
    let marks = |found: Captures<'_>| found[1].matches('\'').count() + found[1].matches(r"\prime").count();
    PRIMED.captures_iter(text).map(marks).sum()
}

pattern!(
    WORD,
    r"^(\\angle|\\overline|\\widehat|\\triangle)?\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*)?\{?\s*([A-Za-z]{3,})\s*\}?\s*\.?$"
);

/// Whether both are a word, of the same letters in another order: Math-Verify multiplies letters. Short ones in lower case are
/// products. The points of an angle or a segment may come from its other end, those of a triangle in any order.
fn are_other_words(gold: &str, answer: &str) -> bool {
    let (Some(gold), Some(answer)) = (WORD.captures(gold), WORD.captures(answer)) else { return false };
    let command = gold.get(1).or(answer.get(1)).map(|found| found.as_str());
    let of = |found: &Captures<'_>| found[2].to_ascii_lowercase();
    let is_product =
        |found: &Captures<'_>| found[2].len() < 5 && found[2].bytes().all(|byte| byte.is_ascii_lowercase());
    let (one, other) = (of(&gold), of(&answer));
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    let reversed: String = other.chars().rev().collect();
    let is_same = one == other || command.is_some() && one == reversed || command == Some(r"\triangle");
    !is_same && sorted(&one) == sorted(&other) && !(is_product(&gold) && is_product(&answer))
}

pattern!(TEXT, r"\\(?:text|textrm|mathrm|mbox)\s*\{([^{}]*)\}");
pattern!(QUANTITIES, r"^(?:[0-9][0-9,]*(?:\.[0-9]+)?|[A-Za-z]+|[\s,.~]|\\[,;: ])+$");
pattern!(QUANTITY, r"([0-9][0-9,]*(?:\.[0-9]+)?)|([A-Za-z]+)");

/// The numbers of a text of several numbers with units between them, as in `5 hours 20 minutes`.
fn quantities(text: &str) -> Option<Vec<String>> {
    let text = TEXT.replace_all(text, " $1 ");
    QUANTITIES.is_match(&text).then_some(())?;
    let (mut numbers, mut has_unit, mut are_apart) = (Vec::new(), false, false);
    for found in QUANTITY.captures_iter(&text) {
        match (found.get(1), found.get(2)) {
            (Some(number), _) => {
                are_apart |= has_unit;
                numbers.push(number.as_str().trim_end_matches(',').replace(',', ""));
            }
            (_, Some(word)) => has_unit |= !numbers.is_empty() && is_unit(word.as_str()),
            _ => {}
        }
    }
    numbers.sort_unstable();
    are_apart.then_some(numbers)
}

/// Whether both are quantities that differ, or one is a quantity and the other a single number.
fn are_other_quantities(gold: &str, answer: &str) -> bool {
    match (quantities(gold), quantities(answer)) {
        (Some(gold), Some(answer)) => gold != answer,
        (Some(_), None) => Rational::read(answer).is_some(),
        (None, Some(_)) => Rational::read(gold).is_some(),
        (None, None) => false,
    }
}

pattern!(
    CONGRUENCE,
    r"^(?:(.*?)\\equiv)?\s*(-?[0-9]+)\s*\\?[,;: ]*(?:\\pmod|\(\s*\\?(?:text\{)?mod\}?|\\(?:b?mod)\b)\s*\{?\s*([0-9]+)\s*\}?\s*\)?$"
);

/// `x \equiv residue \pmod modulus`.
struct Congruence {
    of: Option<String>,
    residue: BigInt,
    modulus: BigInt,
}

impl Congruence {
    fn of(text: &str) -> Option<Self> {
        let found = CONGRUENCE.captures(text.trim())?;
        let of = found.get(1).map(|of| of.as_str().split_whitespace().collect());
        Some(Self { of, residue: found[2].parse().ok()?, modulus: found[3].parse().ok()? })
    }

    /// Nothing can be told where they are about different things.
    fn equals(&self, other: &Self) -> Option<bool> {
        let is_same = self.of == other.of || self.of.is_none() || other.of.is_none();
        let zero = BigInt::ZERO;
        if self.modulus == zero || other.modulus == zero || self.modulus != other.modulus {
            return Some(false);
        }
        let is_equal = (&self.residue - &other.residue) % &self.modulus == zero;
        if !is_equal { Some(false) } else { is_same.then_some(true) }
    }
}

#[cfg(test)]
mod tests {
    use super::compared;

    #[test]
    fn what_math_verify_does_not_see_is_compared() {
        for (gold, answer, is_equal) in [
            ("1101_2", "1101_3", Some(false)),
            (r"120_{\text{five}}", r"120_{\text{six}}", Some(false)),
            (r"120_{\text{five}}", "120_5", None),
            ("1101_2", "1101", None),
            ("x_1", "x_2", None),
            ("Amy", "May", Some(false)),
            ("BDAC", "CADB", Some(false)),
            (r"\text{Amy}", "amy", None),
            ("abc", "bca", None),
            (r"\angle ABC", r"\angle CBA", None),
            (r"\angle BAC", r"\angle ABC", Some(false)),
            (r"\triangle ABC", r"\triangle BCA", None),
            (r"3:45 \text{ PM}", r"3:45 \text{ AM}", Some(false)),
            (r"3:45 \text{ PM}", "3:45", None),
            (r"5 \text{ hours } 20 \text{ minutes}", r"5 \text{ hours } 30 \text{ minutes}", Some(false)),
            ("2 apples and 3 pears", "3 pears, 2 apples", None),
            ("5 hours 20 minutes", "5", Some(false)),
            ("2 and 3", "2 and 4", None),
            ("12 and 15 minutes", "12, 15", None),
            ("20 June 2019", "June 20, 2019", None),
            ("Infinity", "inf", None),
            ("2019-05-06", "2019-06-05", Some(false)),
            ("2019-05-06", "2019-5-6", None),
            ("2019-05-06", "2008", Some(false)),
            (r"a \equiv 1 \pmod 3", r"a\equiv 2\pmod 3", Some(false)),
            (r"a \equiv 1 \pmod 3", r"a\equiv 4\pmod{3}", Some(true)),
            (r"a \equiv 1 \pmod 3", r"a\equiv 1\pmod{4}", Some(false)),
            ("f'(x)", "f(x)", Some(false)),
            ("f'(x)=2x", "2x", None),
            ("it's 2", "2", None),
            (r"30^\circ", "30'", Some(false)),
            (r"30^\circ", "30", None),
        ] {
            assert_eq!(compared(gold, answer), is_equal, "{gold} {answer}");
            assert_eq!(compared(answer, gold), is_equal, "{answer} {gold}");
        }
    }
}
