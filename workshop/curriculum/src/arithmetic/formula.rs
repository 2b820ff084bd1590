//! Questions about a formula, in signs, in words, and as phrases.

use lyceum_core::arithmetic::wording::{ASKS, INFIXES, Meaning, PHRASES, TASKS, Wording};
use lyceum_core::arithmetic::{Expression, Operator};
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;

use super::exercise::{filled, number, one_of};
use Operator::{Add, Divide, Multiply, Remainder, Subtract};

/// A question and its meaning; `None` if the numbers drawn do not suit it.
pub(super) fn draw(level: u8, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    let expression = shape(level, rng)?;
    Some((posed(&expression, rng)?, expression))
}

/// An operation with a whole result on small numbers.
pub(super) fn single(rng: &mut ChaCha12Rng) -> Expression {
    match rng.random_range(0..4) {
        0 => Expression::of(Add, number(2, 60, rng), number(2, 60, rng)),
        1 => {
            let (high, low) = (rng.random_range(10..=99), rng.random_range(2..=60));
            Expression::of(Subtract, Expression::whole(high.max(low)), Expression::whole(high.min(low)))
        }
        2 => Expression::of(Multiply, number(2, 19, rng), number(2, 12, rng)),
        _ => quotient(2, 19, rng),
    }
}

/// A division without remainder, with a result in this range.
fn quotient(low: i64, high: i64, rng: &mut ChaCha12Rng) -> Expression {
    let (divisor, result) = (rng.random_range(2..=12), rng.random_range(low..=high));
    Expression::of(Divide, Expression::whole(divisor * result), Expression::whole(divisor))
}

fn product(rng: &mut ChaCha12Rng) -> Expression {
    Expression::of(Multiply, number(2, 12, rng), number(2, 12, rng))
}

fn sum_or_difference(rng: &mut ChaCha12Rng) -> Operator {
    if rng.random_bool(0.5) { Add } else { Subtract }
}

fn bracketed(rng: &mut ChaCha12Rng) -> Expression {
    Expression::of(sum_or_difference(rng), number(2, 30, rng), number(2, 20, rng))
}

/// A fraction below 1, such as 3/4.
fn fraction(rng: &mut ChaCha12Rng) -> Expression {
    let below = rng.random_range(2..=9);
    Expression::of(Divide, number(1, below - 1, rng), Expression::whole(below))
}

fn shape(level: u8, rng: &mut ChaCha12Rng) -> Option<Expression> {
    let of = Expression::of;
    Some(match (level, rng.random_range(0..5)) {
        (1, _) => single(rng),
        (2, 0) => of(sum_or_difference(rng), number(2, 60, rng), product(rng)),
        (2, 1) => of(sum_or_difference(rng), product(rng), number(2, 60, rng)),
        (2, 2) => of(sum_or_difference(rng), quotient(2, 12, rng), number(2, 60, rng)),
        (2, 3) => of(sum_or_difference(rng), number(2, 60, rng), quotient(2, 12, rng)),
        (2, _) => of(sum_or_difference(rng), bracketed(rng), number(2, 60, rng)),
        (3, 0) => of(Multiply, bracketed(rng), number(2, 12, rng)),
        (3, 1) => of(Multiply, number(2, 12, rng), bracketed(rng)),
        (3, 2) => of(sum_or_difference(rng), of(Multiply, bracketed(rng), number(2, 9, rng)), number(2, 60, rng)),
        (3, 3) => of(Remainder, number(13, 120, rng), number(3, 12, rng)),
        (3, _) => of(Remainder, single(rng), number(3, 12, rng)),
        (4, 0) => of(sum_or_difference(rng), fraction(rng), fraction(rng)),
        (4, 1) => of(Multiply, fraction(rng), fraction(rng)),
        (4, 2) => of(Multiply, fraction(rng), number(2, 60, rng)),
        (4, 3) => {
            let percent = Expression::whole(one_of(&[5, 10, 20, 25, 40, 50, 75], rng)?);
            of(Multiply, of(Divide, percent, Expression::whole(100)), number(4, 120, rng))
        }
        (4, _) => of(sum_or_difference(rng), number(2, 30, rng), of(Multiply, fraction(rng), number(2, 30, rng))),
        _ => {
            let left = of(Multiply, bracketed(rng), number(3, 12, rng));
            let right = of(sum_or_difference(rng), product(rng), quotient(2, 12, rng));
            of(sum_or_difference(rng), left, right)
        }
    })
}

/// A question for the value of an expression in one of the wordings that can say it.
fn posed(expression: &Expression, rng: &mut ChaCha12Rng) -> Option<String> {
    let ask = one_of(ASKS, rng)?;
    let asked = |formula: String| filled(ask, &[formula]);
    Some(match rng.random_range(0..10) {
        0..4 => asked(expression.to_string()),
        4..6 => asked(in_words(expression, rng)),
        // A phrase begins in lower case.
        6..8 if ask.starts_with('{') => return None,
        6..8 => asked(phrase(expression, rng).or_else(|| ends_in_phrase(expression, rng))?),
        _ => said(TASKS, expression, rng)?,
    })
}

/// The formula with words for its signs.
pub(super) fn in_words(expression: &Expression, rng: &mut ChaCha12Rng) -> String {
    let text = expression.to_string();
    let pieces = text.split(' ').map(|piece| {
        let is_meant =
            |(_, operator): &&(&'static str, Operator)| piece.len() == 1 && piece.starts_with(operator.sign());
        let words: Vec<&str> = INFIXES.iter().filter(is_meant).map(|(words, _)| *words).collect();
        one_of(&words, rng).unwrap_or(piece)
    });
    pieces.collect::<Vec<_>>().join(" ")
}

/// A phrase for an expression, such as "the sum of 3 and 4" or "3/4 of 20".
fn phrase(expression: &Expression, rng: &mut ChaCha12Rng) -> Option<String> {
    match part_of(expression, rng) {
        Some(part) if rng.random_bool(0.6) => Some(part),
        _ => said(PHRASES, expression, rng),
    }
}

/// "5 times the sum of 3 and 4": nothing may follow a phrase.
fn ends_in_phrase(expression: &Expression, rng: &mut ChaCha12Rng) -> Option<String> {
    let Expression::Operation(operator, sides) = expression else { return None };
    let [left @ Expression::Number(_), right] = &**sides else { return None };
    let words: Vec<&str> = INFIXES.iter().filter(|(_, of)| of == operator).map(|(words, _)| *words).collect();
    Some(format!("{left} {} {}", one_of(&words, rng)?, phrase(right, rng)?))
}

/// "3/4 of 20" or "25 percent of 80".
fn part_of(expression: &Expression, rng: &mut ChaCha12Rng) -> Option<String> {
    let Expression::Operation(Multiply, sides) = expression else { return None };
    let [part @ Expression::Operation(Divide, of), whole] = &**sides else { return None };
    let [Expression::Number(above), Expression::Number(below)] = &**of else { return None };
    let is_percent = *below == 100.into();
    let part = if is_percent { format!("{above} percent") } else { part.to_string() };
    Some(format!("{part} of {}", atom(whole, rng)))
}

/// The expression in one of these wordings, if one means it.
fn said(wordings: &[Wording], expression: &Expression, rng: &mut ChaCha12Rng) -> Option<String> {
    let fitting: Vec<(&str, Vec<&Expression>)> =
        wordings.iter().filter_map(|wording| Some((wording.pattern, slots(wording.meaning, expression)?))).collect();
    if fitting.is_empty() {
        return None;
    }
    let (pattern, slots) = &fitting[rng.random_range(0..fitting.len())];
    let is_formula = pattern.contains("{+}");
    let slot = |(at, slot): (usize, &&Expression)| match is_formula && at == 0 {
        true => slot.to_string(),
        false => atom(slot, rng),
    };
    let slots: Vec<String> = slots.iter().enumerate().map(slot).collect();
    Some(filled(pattern, &slots))
}

/// The contents of the slots with which a wording means this expression.
fn slots(meaning: Meaning, expression: &Expression) -> Option<Vec<&Expression>> {
    let Expression::Operation(operator, sides) = expression else { return None };
    let [left, right] = &**sides;
    let slots = match meaning {
        Meaning::Ordered(of) if of == *operator => vec![left, right],
        Meaning::Swapped(of) if of == *operator => vec![right, left],
        Meaning::Difference if *operator == Subtract => vec![left, right],
        Meaning::Square | Meaning::Scaled(1, _) => vec![left],
        Meaning::Scaled(..) => vec![right],
        _ => return None,
    };
    let meant = meaning.of(slots.iter().map(|&slot| slot.clone()).collect());
    (meant.as_ref() == Some(expression)).then_some(slots)
}

/// A number, a bracketed formula, or a phrase.
fn atom(expression: &Expression, rng: &mut ChaCha12Rng) -> String {
    if let Expression::Number(number) = expression {
        return number.to_string();
    }
    let said = if rng.random_bool(0.5) { phrase(expression, rng) } else { None };
    said.unwrap_or_else(|| format!("({expression})"))
}
