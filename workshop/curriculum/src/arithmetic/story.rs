//! Stories: someone has things, and their number changes.

use lyceum_core::arithmetic::Expression;
use lyceum_core::arithmetic::wording::{
    Change, PEOPLE, SHARE_END, STORY_CHANGES, STORY_ENDS, STORY_STARTS, THINGS, counted,
};
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;

use super::chain::capitalised;
use super::exercise::one_of;

/// Draws until a change leaves a whole number of things.
const TRIES: usize = 40;

/// A story and the number it asks for.
pub(super) fn draw(level: u8, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    let changes = match level {
        1 => 1,
        2 => 2,
        3 => rng.random_range(2..=3),
        4 => 2,
        _ => rng.random_range(4..=5),
    };
    let (who, pronoun) = one_of(PEOPLE, rng)?;
    let what = one_of(THINGS, rng)?;
    let others: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).filter(|name| *name != who).collect();
    let (mut text, mut value) = start(level, who, what, rng)?;
    let mut is_shared = false;
    for turn in 0..changes {
        let allowed = |change: &Change| is_allowed(*change, level, turn + 1 == changes);
        let (pattern, change, numbers, after) = (0..TRIES).find_map(|_| {
            let (pattern, change) = one_of(STORY_CHANGES, rng).filter(|(_, change)| allowed(change))?;
            let numbers = numbers(change, rng);
            let after = change.of(value.clone(), written(&numbers))?;
            let count = after.value()?;
            let fits = count.is_integer() && *count.numer() >= 0;
            fits.then_some((pattern, change, numbers, after))
        })?;
        let said = sentence(pattern, who, what, one_of(&others, rng)?, &numbers);
        text = match rng.random_range(0..10) {
            0..2 => format!("{text} and {said}"),
            2..4 => format!("{text}. Then {} {said}", pronoun.to_lowercase()),
            4..8 => format!("{text}. {pronoun} {said}"),
            _ => format!("{text}. {who} {said}"),
        };
        is_shared = change == Change::Shared;
        value = after;
    }
    let end = if is_shared { SHARE_END } else { one_of(STORY_ENDS, rng)? };
    let asked = if rng.random_bool(0.7) { who.to_owned() } else { pronoun.to_lowercase() };
    Some((format!("{text}. {}", sentence(end, &asked, what, "", &[])), value))
}

fn start(level: u8, who: &str, what: &str, rng: &mut ChaCha12Rng) -> Option<(String, Expression)> {
    let allowed: Vec<&str> =
        STORY_STARTS.iter().copied().filter(|pattern| level >= 3 || pattern.matches("{n}").count() == 1).collect();
    let pattern = one_of(&allowed, rng)?;
    let numbers = match pattern.matches("{n}").count() {
        1 => vec![rng.random_range(4..=60)],
        _ => vec![rng.random_range(2..=9), rng.random_range(2..=12)],
    };
    let text = capitalised(&sentence(pattern, who, what, "", &numbers));
    Some((text, counted(written(&numbers))?))
}

fn is_allowed(change: Change, level: u8, is_last: bool) -> bool {
    match change {
        Change::More | Change::Less => level != 4 || !is_last,
        Change::MoreGroups | Change::LessGroups => level == 2 || level == 3 || level == 5,
        Change::Scaled(2, 1) => level >= 3,
        Change::Scaled(..) => level >= 4,
        Change::Shared => level >= 3 && is_last,
    }
}

fn numbers(change: Change, rng: &mut ChaCha12Rng) -> Vec<i64> {
    match change {
        Change::More | Change::Less => vec![rng.random_range(2..=40)],
        Change::MoreGroups | Change::LessGroups => vec![rng.random_range(2..=6), rng.random_range(2..=12)],
        Change::Scaled(..) => Vec::new(),
        Change::Shared => vec![rng.random_range(2..=6)],
    }
}

fn written(numbers: &[i64]) -> Vec<Expression> {
    numbers.iter().map(|&number| Expression::whole(number)).collect()
}

/// A pattern with its slots filled.
fn sentence(pattern: &str, who: &str, what: &str, other: &str, numbers: &[i64]) -> String {
    let mut text = pattern.replace("{who}", who).replace("{what}", what).replace("{other}", other);
    for number in numbers {
        text = text.replacen("{n}", &number.to_string(), 1);
    }
    text
}
