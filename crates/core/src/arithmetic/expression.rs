//! The meaning of a question: numbers and operations.

use num_rational::Ratio;
use num_traits::{Signed as _, Zero as _};
use std::fmt;

/// An arithmetic expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Number(Rational),
    /// An operation on two expressions.
    Operation(Operator, Box<[Expression; 2]>),
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Addition.
    Add,
    Subtract,
    Multiply,
    /// Exact division.
    Divide,
    /// The remainder of two whole numbers, with the sign of the divisor (as in Python).
    Remainder,
}

impl Operator {
    /// Its sign in formulas.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }

    /// Whether it binds tighter than a sum.
    #[must_use]
    pub fn is_product(self) -> bool {
        !matches!(self, Self::Add | Self::Subtract)
    }

    /// The result, if there is one and it is within bounds.
    #[must_use]
    pub fn apply(self, left: Rational, right: Rational) -> Option<Rational> {
        let needs_divisor = matches!(self, Self::Divide | Self::Remainder);
        if needs_divisor && right.is_zero() {
            return None;
        }
        bounded(match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Remainder if left.is_integer() && right.is_integer() => left - (left / right).floor() * right,
            Self::Remainder => return None,
        })
    }
}

impl Expression {
    #[must_use]
    pub fn whole(number: i64) -> Self {
        Self::Number(Rational::from_integer(number.into()))
    }

    /// An operation.
    #[must_use]
    pub fn of(operator: Operator, left: Self, right: Self) -> Self {
        Self::Operation(operator, Box::new([left, right]))
    }

    /// The exact value; `None` if a divisor is 0, a remainder is of fractions, or a number becomes too large.
    #[must_use]
    pub fn value(&self) -> Option<Rational> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Operation(operator, sides) => operator.apply(sides[0].value()?, sides[1].value()?),
        }
    }

    /// Number of operations.
    #[must_use]
    pub fn operations(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Operation(_, sides) => 1 + sides[0].operations() + sides[1].operations(),
        }
    }

    /// Whether this is a number written as a fraction, such as 3/4: one number divided by another, with a remainder.
    #[must_use]
    pub fn is_fraction(&self) -> bool {
        let is_number = |side: &Self| matches!(side, Self::Number(_));
        let is_quotient = matches!(self, Self::Operation(Operator::Divide, sides) if sides.iter().all(is_number));
        is_quotient && self.value().is_some_and(|value| !value.is_integer())
    }

    /// A text that is the same for every wording of the expression, and for every order of the terms of a sum and of the
    /// factors of a product.
    #[must_use]
    pub fn form(&self) -> String {
        let Self::Operation(operator, sides) = self else { return self.to_string() };
        if *operator == Operator::Remainder {
            return format!("({}%{})", sides[0].form(), sides[1].form());
        }
        let mut parts = Vec::new();
        self.parts(operator.is_product(), false, &mut parts);
        parts.sort();
        format!("({})", parts.concat())
    }

    /// The terms of a sum or the factors of a product, each with its sign.
    fn parts(&self, of_product: bool, inverted: bool, parts: &mut Vec<String>) {
        match self {
            Self::Operation(operator, sides)
                if *operator != Operator::Remainder && operator.is_product() == of_product =>
            {
                let inverts = matches!(operator, Operator::Subtract | Operator::Divide);
                sides[0].parts(of_product, inverted, parts);
                sides[1].parts(of_product, inverted != inverts, parts);
            }
            _ => {
                let sign = match (of_product, inverted) {
                    (false, false) => '+',
                    (false, true) => '-',
                    (true, false) => '*',
                    (true, true) => '/',
                };
                parts.push(format!("{sign}{}", self.form()));
            }
        }
    }
}

/// A formula with the fewest brackets and spaces around the signs: `3 * (4 + 5)`. Fractions have none: `3/4 * 5`.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Operation(operator, sides) => {
                let [left, right] = &**sides;
                if self.is_fraction() {
                    return write!(f, "{left}/{right}");
                }
                let weaker =
                    |side: &Self| matches!(side, Self::Operation(of, _) if operator.is_product() && !of.is_product());
                let same =
                    |side: &Self| matches!(side, Self::Operation(of, _) if operator.is_product() == of.is_product());
                bracketed(f, left, weaker(left))?;
                write!(f, " {} ", operator.sign())?;
                let needs = weaker(right) || (same(right) && *operator != Operator::Add);
                bracketed(f, right, needs)
            }
        }
    }
}

fn bracketed(f: &mut fmt::Formatter<'_>, expression: &Expression, needed: bool) -> fmt::Result {
    if needed { write!(f, "({expression})") } else { write!(f, "{expression}") }
}

/// An exact number.
pub type Rational = Ratio<i128>;

/// The largest numerator and denominator. Sums and products of two such numbers fit into 128 bits.
const LARGEST: i128 = 1_000_000_000_000_000;
/// The most digits of a number in a text.
const DIGITS: usize = 12;

/// The number if its numerator and denominator are within bounds.
fn bounded(number: Rational) -> Option<Rational> {
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
    let latex = ["\\frac{", "\\dfrac{", "\\tfrac{"].iter().find_map(|command| text.strip_prefix(command));
    match latex {
        Some(rest) => rest.strip_suffix('}')?.split_once("}{"),
        None => text.split_once('/'),
    }
}
