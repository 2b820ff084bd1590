//! Exact numbers and stated answers.

use num_rational::Ratio;
use num_traits::Signed as _;

/// An exact number.
pub type Rational = Ratio<i128>;

/// The largest numerator and denominator. Sums and products of two such numbers fit into 128 bits.
const LARGEST: i128 = 1_000_000_000_000_000;
/// The most digits of a number in a text.
const DIGITS: usize = 12;

/// The number if its numerator and denominator are within bounds.
pub(super) fn bounded(number: Rational) -> Option<Rational> {
    let fits = number.numer().abs() <= LARGEST && *number.denom() <= LARGEST;
    fits.then_some(number)
}

/// A number without sign, such as `12` or `0.75`.
pub(super) fn unsigned(text: &str) -> Option<Rational> {
    let (whole, decimals) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = format!("{whole}{decimals}");
    let is_number = !whole.is_empty() && digits.len() <= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    let power = 10_i128.pow(u32::try_from(decimals.len()).ok().filter(|_| is_number)?);
    Some(Ratio::new(digits.parse().ok()?, power))
}

/// A stated answer: an integer, a decimal number or a fraction, with an optional sign.
#[must_use]
pub fn read_answer(text: &str) -> Option<Rational> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1, rest.trim_start()),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = match fraction(text) {
        Some((above, below)) => {
            let (above, below) = (unsigned(above.trim())?, unsigned(below.trim())?);
            bounded(if below == Ratio::ZERO {
                return None;
            } else {
                above / below
            })?
        }
        None => unsigned(text)?,
    };
    Some(number * sign)
}

/// The numerator and the denominator of `a/b` or `\frac{a}{b}`.
fn fraction(text: &str) -> Option<(&str, &str)> {
    let latex = ["\\frac{", "\\dfrac{", "\\tfrac{"]
        .iter()
        .find_map(|command| text.strip_prefix(command));
    match latex {
        Some(rest) => rest.strip_suffix('}')?.split_once("}{"),
        None => text.split_once('/'),
    }
}
