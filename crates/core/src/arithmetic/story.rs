//! Reads stories: someone has things, and their number changes.

use super::expression::Expression;
use super::formula::Reader;
use super::question::separators;
use super::token::{Token, tokens};
use super::wording::{Change, SHARE_END, STORY_CHANGES, STORY_ENDS, STORY_STARTS, counted};

const NOT_UNDERSTOOD: &str = "the question is in no wording that is known";
const PRONOUNS: [&str; 3] = ["she", "he", "they"];

/// The person and the things of a story.
struct Scene {
    who: String,
    what: String,
}

/// The words and numbers of a sentence's slots.
#[derive(Default)]
struct Slots {
    who: Option<String>,
    other: Option<String>,
    what: Option<String>,
    numbers: Vec<Expression>,
}

/// The number asked for at the end.
pub(super) fn story(found: &[Token]) -> Result<Expression, &'static str> {
    let mut reader = Reader::new(found);
    let (scene, mut value) = start(&mut reader).ok_or(NOT_UNDERSTOOD)?;
    let mut is_shared = false;
    loop {
        separators(&mut reader);
        if let Some(slots) = end(&mut reader, is_shared) {
            if !reader.is_done() {
                return Err(NOT_UNDERSTOOD);
            }
            scene.check(&slots)?;
            return Ok(value);
        }
        if is_shared {
            return Err("only the size of a share can be asked after sharing");
        }
        let (slots, change) = change(&mut reader).ok_or(NOT_UNDERSTOOD)?;
        scene.check(&slots)?;
        is_shared = change == Change::Shared;
        value = change.of(value, slots.numbers).ok_or(NOT_UNDERSTOOD)?;
        let is_count = value
            .value()
            .is_some_and(|value| value.is_integer() && *value.numer() >= 0);
        if !is_count {
            return Err("the story's number of things is not a whole number");
        }
    }
}

fn start(reader: &mut Reader<'_>) -> Option<(Scene, Expression)> {
    STORY_STARTS.iter().find_map(|pattern| {
        let slots = sentence(reader, pattern)?;
        let scene = Scene {
            who: slots.who?,
            what: slots.what?,
        };
        Some((scene, counted(slots.numbers)?))
    })
}

fn end(reader: &mut Reader<'_>, is_shared: bool) -> Option<Slots> {
    let share = [SHARE_END];
    let patterns = if is_shared { &share[..] } else { STORY_ENDS };
    patterns.iter().find_map(|pattern| {
        reader.attempt(|reader| {
            let slots = sentence(reader, pattern)?;
            reader.is_done().then_some(slots)
        })
    })
}

/// A sentence about the person, who may be named, referred to, or left out.
fn change(reader: &mut Reader<'_>) -> Option<(Slots, Change)> {
    STORY_CHANGES.iter().find_map(|(pattern, change)| {
        let named = format!("{{who}} {pattern}");
        let slots = sentence(reader, pattern).or_else(|| sentence(reader, &named))?;
        Some((slots, *change))
    })
}

impl Scene {
    /// Refuses a sentence about another person or other things.
    fn check(&self, slots: &Slots) -> Result<(), &'static str> {
        let is_same_person = |who: &String| *who == self.who || PRONOUNS.contains(&who.as_str());
        let is_other_person = |other: &String| *other != self.who && !PRONOUNS.contains(&other.as_str());
        if !slots.who.iter().all(is_same_person) || !slots.other.iter().all(is_other_person) {
            return Err("the story is about one person and asks about another");
        }
        if !slots.what.iter().all(|what| *what == self.what) {
            return Err("the story counts one thing and asks about another");
        }
        Ok(())
    }
}

/// The slots of a story's pattern that the next tokens match.
fn sentence(reader: &mut Reader<'_>, pattern: &str) -> Option<Slots> {
    reader.attempt(|reader| {
        let mut slots = Slots::default();
        for piece in pattern.trim_end_matches(['.', '?']).split_whitespace() {
            match piece {
                "{n}" => match reader.next()? {
                    Token::Number(number) if number.is_integer() => slots.numbers.push(Expression::Number(*number)),
                    _ => return None,
                },
                "{who}" => slots.who = Some(word(reader)?),
                "{other}" => slots.other = Some(word(reader)?),
                "{what}" => slots.what = Some(singular(&word(reader)?).to_owned()),
                text => {
                    let wanted = tokens(text)?;
                    if !wanted.iter().all(|wanted| reader.take(|token| token == wanted)) {
                        return None;
                    }
                }
            }
        }
        Some(slots)
    })
}

fn word(reader: &mut Reader<'_>) -> Option<String> {
    match reader.next()? {
        Token::Word(word) => Some(word.clone()),
        _ => None,
    }
}

/// "1 apple" and "3 apples" are the same things.
fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}
