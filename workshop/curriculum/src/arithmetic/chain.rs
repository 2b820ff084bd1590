//! Chains of instructions, and questions with variables.

use lyceum_core::arithmetic::wording::{ASKS, CHAIN_ENDS, CHAIN_LINKS, CHAIN_STARTS, Meaning, VARIABLES};
use lyceum_core::arithmetic::{Expression, Operator};
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;

use super::exercise::{filled, number, one_of};
use super::formula::{in_words, single};

/// "Start with 3. Add 4. Multiply by 5. What is the result?"
pub(super) fn instructions(level: u8, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    let links = match level {
        2 => 2,
        3 | 4 => 3,
        _ => rng.random_range(4..=5),
    };
    let mut value = number(4, 40, rng);
    let start = filled(one_of(CHAIN_STARTS, rng)?, &[value.to_string()]);
    let mut said = Vec::new();
    for _ in 0..links {
        let link = CHAIN_LINKS[rng.random_range(0..CHAIN_LINKS.len())];
        let with = match link.meaning {
            Meaning::Ordered(Operator::Multiply | Operator::Divide) => number(2, 9, rng),
            _ => number(2, 30, rng),
        };
        said.push(filled(link.pattern, &[with.to_string()]));
        value = link.meaning.of(vec![value, with])?;
        if level < 4 && !value.value()?.is_integer() {
            return None;
        }
    }
    let end = one_of(CHAIN_ENDS, rng)?;
    let text = if rng.random_bool(0.5) {
        let sentences: Vec<String> = said.iter().map(|link| capitalised(link)).collect();
        format!("{start}. {}. {end}", sentences.join(". "))
    } else {
        let last = said.pop()?;
        let before = said.iter().map(|link| format!(", {link}")).collect::<String>();
        format!("{start}{before} and {last}. {end}")
    };
    Some((text, value))
}

/// "Let x = 3 * 4. What is x - 5?"
pub(super) fn variables(level: u8, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    let mut names = VARIABLES.to_vec();
    let mut name = |rng: &mut ChaCha12Rng| names.swap_remove(rng.random_range(0..names.len()));
    let first = name(rng);
    let value = match level {
        2 => number(2, 30, rng),
        _ => single(rng),
    };
    let (is_let, in_signs) = (rng.random_bool(0.5), rng.random_bool(0.6));
    let written = |expression: &Expression, rng: &mut ChaCha12Rng| match in_signs {
        true => expression.to_string(),
        false => in_words(expression, rng),
    };
    let is = if is_let { "=" } else { "is" };
    let mut given = format!("{first} {is} {}", written(&value, rng));
    let (mut asked, mut meaning) = combined(first, &value, rng)?;
    if level >= 5 {
        let second = name(rng);
        given = format!("{given} and {second} {is} {asked}");
        (asked, meaning) = match rng.random_bool(0.5) {
            true => combined(second, &meaning, rng)?,
            false => {
                let sum = Expression::of(Operator::Add, value, meaning);
                (format!("{first} + {second}"), sum)
            }
        };
    }
    let ask = filled(one_of(ASKS, rng)?, &[asked]);
    let text = if is_let { format!("Let {given}. {ask}") } else { format!("If {given}, {}", uncapitalised(&ask)) };
    Some((text, meaning))
}

/// A variable and a number joined by an operation: as text, and with the variable's value.
fn combined(name: &str, value: &Expression, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    use Operator::{Add, Multiply, Subtract};
    let operator = one_of(&[Add, Subtract, Multiply], rng)?;
    let with = match operator {
        Multiply => number(2, 9, rng),
        _ => number(2, 40, rng),
    };
    let sign = operator.sign();
    Some(match rng.random_bool(0.6) {
        true => (format!("{name} {sign} {with}"), Expression::of(operator, value.clone(), with)),
        false => (format!("{with} {sign} {name}"), Expression::of(operator, with, value.clone())),
    })
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
