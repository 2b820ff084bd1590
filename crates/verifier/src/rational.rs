//! Rational numbers as they are written in answers.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, Zero as _};

/// Longer numbers are left to Math-Verify.
const MAX_DIGITS: usize = 1000;

/// A number with its exact value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rational {
    pub(crate) value: BigRational,
    /// Whether it was written with a decimal point.
    pub(crate) is_decimal: bool,
}

impl Rational {
    /// Whether two numbers are the same; if one is a decimal fraction, up to 1e-6 of the larger. 0 equals only 0.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        let (a, b) = (&self.value, &other.value);
        a == b
            || (self.is_decimal || other.is_decimal) && (a - b).abs() * BigInt::from(1_000_000) <= a.abs().max(b.abs())
    }

    /// Whether two texts are the same number if a comma that separates no group of three digits is a decimal one:
    /// `1000,99` is 1000.99. `1,5` may also be a list, as Math-Verify reads it.
    pub(crate) fn are_equal_with_decimal_comma(left: &str, right: &str) -> bool {
        let read = |text: &str| match Self::read(text) {
            None => Self::read(&text.trim().replacen(',', ".", 1)).filter(|number| number.is_decimal),
            number => number,
        };
        matches!((read(left), read(right)), (Some(a), Some(b)) if a.value == b.value)
    }

    /// Reads an integer (`12`, `1,234`, `1{,}234`, `1 234`), a decimal fraction (`-.5`, `27.0`, `1.5e3`, `0.\overline{3}`,
    /// `0.(3)`), a fraction of two of them (`3/4`, `\frac{3}{4}`, `\dfrac34`) or a mixed number (`1 1/4`), optionally with a
    /// sign and enclosing dollar signs.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut text = text.trim();
        while let Some(inside) = text.strip_prefix('$').and_then(|rest| rest.strip_suffix('$')) {
            text = inside.trim();
        }
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let plain =
            || fraction(text).or_else(|| repeating(text)).or_else(|| scientific(text)).or_else(|| decimal(text));
        let mut number = mixed(text).or_else(plain)?;
        if is_negative {
            number.value = -number.value;
        }
        Some(number)
    }
}

/// An integer and a fraction below 1. `1 234/567` is 1234 / 567.
fn mixed(text: &str) -> Option<Rational> {
    let (whole, rest) = text.split_once(' ')?;
    let (above, below) = rest.trim().split_once('/')?;
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if ![whole, above, below].into_iter().all(is_digits) || above.len() == 3 {
        return None;
    }
    let part = fraction(rest.trim())?;
    let whole = decimal(whole)?;
    (part.value < BigRational::from_integer(BigInt::from(1)))
        .then(|| Rational { value: whole.value + part.value, is_decimal: false })
}

/// A decimal fraction whose last digits repeat.
fn repeating(text: &str) -> Option<Rational> {
    let (start, rest) = ["\\overline{", "\\bar{", "\\dot{", "("]
        .iter()
        .find_map(|mark| text.split_once(mark))
        .filter(|(start, _)| start.contains('.'))?;
    let period = rest.trim_end().strip_suffix(['}', ')'])?;
    let start = decimal(start.trim_end()).map(|number| (number, start.trim_end().split_once('.')))?;
    let (start, Some((_, fixed))) = start else { return None };
    if period.is_empty() || period.len() + fixed.len() > MAX_DIGITS || !period.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let power = |digits: usize| Some(BigInt::from(10).pow(u32::try_from(digits).ok()?));
    let below = power(fixed.len())? * (power(period.len())? - 1);
    let repeated = BigRational::new(BigInt::parse_bytes(period.as_bytes(), 10)?, below);
    Some(Rational { value: start.value + repeated, is_decimal: false })
}

/// A decimal fraction times a power of ten.
fn scientific(text: &str) -> Option<Rational> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let number = decimal(mantissa)?;
    let exponent: i32 =
        exponent.parse().ok().filter(|exponent: &i32| exponent.unsigned_abs() as usize <= MAX_DIGITS)?;
    let scale = BigRational::from_integer(BigInt::from(10)).pow(exponent);
    Some(Rational { value: number.value * scale, is_decimal: true })
}

fn fraction(text: &str) -> Option<Rational> {
    let command = ["\\frac", "\\dfrac", "\\tfrac"].iter().find_map(|command| text.strip_prefix(command));
    let (above, below) = match command {
        Some(rest) => {
            let (above, rest) = group(rest)?;
            let (below, rest) = group(rest)?;
            if !rest.trim().is_empty() {
                return None;
            }
            (above, below)
        }
        None => text.split_once('/')?,
    };
    let (above, below) = (signed(above)?, decimal(below.trim())?);
    if below.value.is_zero() {
        return None;
    }
    Some(Rational { value: above.value / below.value, is_decimal: above.is_decimal || below.is_decimal })
}

/// `{..}` or one digit, and the rest.
fn group(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    match text.strip_prefix('{') {
        Some(rest) => rest.split_once('}'),
        None if text.starts_with(|c: char| c.is_ascii_digit()) => Some(text.split_at(1)),
        None => None,
    }
}

fn signed(text: &str) -> Option<Rational> {
    let text = text.trim();
    match text.strip_prefix('-') {
        Some(rest) => decimal(rest.trim_start()).map(|number| Rational { value: -number.value, ..number }),
        None => decimal(text),
    }
}

fn decimal(text: &str) -> Option<Rational> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = thousands(whole)?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > MAX_DIGITS || !is_digits(&digits) {
        return None;
    }
    let scale = BigInt::from(10).pow(u32::try_from(fraction.len()).ok()?);
    let value = BigRational::new(BigInt::parse_bytes(digits.as_bytes(), 10)?, scale);
    Some(Rational { value, is_decimal: text.contains('.') })
}

/// Digits without their thousands separators, which must precede groups of three.
fn thousands(text: &str) -> Option<String> {
    let text = text.replace("{,}", ",").replace("\\,", ",").replace("\\!", "");
    let mut groups = text.split(if text.contains(',') { ',' } else { ' ' });
    let first = groups.next()?;
    let rest: Vec<_> = groups.collect();
    // `0,111` is a decimal fraction.
    let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
    let is_grouped = rest.is_empty() || (begins && rest.iter().all(|group| group.len() == 3));
    is_grouped.then(|| format!("{first}{}", rest.concat()))
}

#[cfg(test)]
mod tests {
    use super::Rational;

    fn equal(left: &str, right: &str) -> bool {
        matches!((Rational::read(left), Rational::read(right)), (Some(a), Some(b)) if a.value == b.value)
    }

    #[test]
    fn spellings_of_one_number_are_equal() {
        for (left, right) in [
            ("1,234", "1234"),
            ("1{,}234,567", "1234567"),
            ("$27.0$", "27"),
            ("-.5", "-1/2"),
            (r"\frac{3}{4}", "0.75"),
            (r"\dfrac34", "3/4"),
            (r"-\frac{1}{3}", "-1/3"),
            (r"\frac{-1}{3}", "-1/3"),
            ("007", "7"),
            ("1 234", "1234"),
            ("-12 345 678.5", "-12345678.5"),
            (r"1\,000\,000", "1000000"),
            ("1 1/4", "5/4"),
            ("-3 1/2", "-7/2"),
            ("1 234/5", "1234/5"),
            (r"0.\overline{3}", "1/3"),
            (r"-1.2\overline{45}", "-1233/990"),
            ("0.1(6)", "1/6"),
            ("1.5e3", "1500"),
            ("25E-1", "5/2"),
        ] {
            assert!(equal(left, right), "{left} {right}");
        }
    }

    #[test]
    fn what_is_no_plain_number_is_left_alone() {
        for text in [
            "",
            "-",
            "1,23",
            "1 2",
            "1 23",
            "1234 567",
            "1 234,567",
            "1  234",
            "1/0",
            "x",
            r"\frac{1}{x}",
            "1,234,5",
            "1/2/3",
            "50%",
            "٣",
        ] {
            assert_eq!(Rational::read(text), None, "{text}");
        }
    }

    #[test]
    fn decimal_fractions_are_equal_up_to_a_millionth() {
        let equals = |left, right| Rational::read(left).unwrap().equals(&Rational::read(right).unwrap());
        for (left, right) in [
            ("1/3", "0.333333"),
            ("-0.333333", "-1/3"),
            ("123456789.123", "123456789.124"),
            ("0.00000012345678", "0.00000012345679"),
            ("0", "0.000"),
        ] {
            assert!(equals(left, right) && equals(right, left), "{left} {right}");
        }
        for (left, right) in [
            ("1/3", "0.33333"),
            ("0.0000001", "0.0000002"),
            ("0", "0.0000001"),
            ("1/1000000001", "1/1000000002"),
            ("1000000000", "1000000001"),
            ("0.5", "-0.5"),
        ] {
            assert!(!equals(left, right) && !equals(right, left), "{left} {right}");
        }
    }

    #[test]
    fn a_comma_may_be_a_decimal_one() {
        let equal = Rational::are_equal_with_decimal_comma;
        assert!(
            equal("1000,99", "1000.99") && equal("0,111", "0.111") && equal("1.5", "1,5") && equal("-2,50", "-2.5")
        );
        // Three digits after a comma are a group of thousands.
        assert!(!equal("1,234", "1.234") && !equal("1,5", "15") && !equal("1,2,3", "1.2") && !equal("1, 5", "1.5"));
    }
}
