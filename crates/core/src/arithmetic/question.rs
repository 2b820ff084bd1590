//! Reads whole questions.

use super::expression::unsigned;
use super::formula::Reader;
use super::wording::{
    ASKS, CHAIN_ENDS, CHAIN_LINKS, CHAIN_STARTS, Change, SHARE_END, STORY_CHANGES, STORY_ENDS, STORY_STARTS, TASKS,
    counted,
};
use super::{Expression, Rational};

/// The meaning of a question in one of the wordings.
///
/// # Errors
/// Why it has none: it is in another language, or it is ambiguous.
pub fn read_question(text: &str) -> Result<Expression, &'static str> {
    let mut found = tokens(text).ok_or("the question is too long or has a malformed number")?;
    while found.last().is_some_and(Token::ends_sentence) {
        found.pop();
    }
    let whole = |read: fn(&mut Reader<'_>) -> Option<Expression>| {
        let mut reader = Reader::new(&found);
        read(&mut reader).filter(|_| reader.is_done())
    };
    if let Some(expression) = whole(asked).or_else(|| whole(task)).or_else(|| whole(given)).or_else(|| whole(chain)) {
        return Ok(expression);
    }
    story(&found)
}

fn asked(reader: &mut Reader<'_>) -> Option<Expression> {
    let read = ASKS.iter().find_map(|pattern| {
        reader.attempt(|reader| {
            let slots = reader.pattern(pattern)?;
            reader.is_done().then_some(slots)
        })
    });
    read?.pop()
}

fn task(reader: &mut Reader<'_>) -> Option<Expression> {
    TASKS.iter().find_map(|task| {
        let slots = reader.attempt(|reader| {
            let slots = reader.pattern(task.pattern)?;
            reader.is_done().then_some(slots)
        })?;
        task.meaning.of(slots)
    })
}

/// Variables, then a question: "Let x = 3 * 4. What is x - 5?"
fn given(reader: &mut Reader<'_>) -> Option<Expression> {
    if !reader.take(|token| token.is_word("let") || token.is_word("if")) {
        return None;
    }
    loop {
        let Token::Word(name) = reader.next()? else { return None };
        let is_new = name.chars().count() == 1 && reader.variables.iter().all(|(known, _)| known != name);
        let is_given = reader.take(|token| token.is_sign('=') || token.is_word("is") || token.is_word("be"));
        if !is_new || !is_given {
            return None;
        }
        let value = reader.sum()?;
        reader.variables.push((name.clone(), value));
        if !reader.take(|token| token.is_word("and")) {
            break;
        }
    }
    if !reader.take(|token| token.is_sign('.') || token.is_sign(',')) {
        return None;
    }
    asked(reader)
}

/// Instructions one after another: "Start with 3. Add 4. Multiply by 5. What is the result?"
fn chain(reader: &mut Reader<'_>) -> Option<Expression> {
    let mut value = CHAIN_STARTS.iter().find_map(|pattern| reader.pattern(pattern))?.pop()?;
    loop {
        separators(reader);
        let is_over = reader.is_done() || CHAIN_ENDS.iter().any(|end| reader.pattern(end).is_some());
        if is_over {
            return (value.operations() > 0).then_some(value);
        }
        value = CHAIN_LINKS.iter().find_map(|link| {
            let slots = reader.pattern(link.pattern)?;
            link.meaning.of(std::iter::once(value.clone()).chain(slots).collect())
        })?;
    }
}

/// Skips punctuation and words between sentences.
fn separators(reader: &mut Reader<'_>) {
    while reader
        .take(|token| token.ends_sentence() || token.is_sign(',') || token.is_word("and") || token.is_word("then"))
    {
    }
}

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

/// The number that the final question is about.
fn story(found: &[Token]) -> Result<Expression, &'static str> {
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
        let is_count = value.value().is_some_and(|value| value.is_integer() && *value.numer() >= 0);
        if !is_count {
            return Err("the story's number of things is not a whole number");
        }
    }
}

fn start(reader: &mut Reader<'_>) -> Option<(Scene, Expression)> {
    STORY_STARTS.iter().find_map(|pattern| {
        let slots = sentence(reader, pattern)?;
        let scene = Scene { who: slots.who?, what: slots.what? };
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

/// The most tokens of a question.
const LONGEST: usize = 400;

/// A piece of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word in lower case.
    Word(String),
    /// A number without sign.
    Number(Rational),
    /// Any other character, except white space.
    Sign(char),
}

impl Token {
    pub(super) fn is_sign(&self, wanted: char) -> bool {
        *self == Self::Sign(wanted)
    }

    pub(super) fn is_word(&self, wanted: &str) -> bool {
        matches!(self, Self::Word(word) if word == wanted)
    }

    /// Whether a sentence ends here.
    fn ends_sentence(&self) -> bool {
        matches!(self, Self::Sign('.' | '?' | '!'))
    }
}

/// The tokens of a text; `None` if there are too many or a number is malformed.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if first.is_ascii_digit() {
            let length = number_length(rest);
            (Token::Number(unsigned(&rest[..length])?), length)
        } else if first.is_alphabetic() {
            let length = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
            (Token::Word(rest[..length].to_lowercase()), length)
        } else {
            let sign = match first {
                '×' | '·' => '*',
                '÷' => '/',
                '−' => '-',
                other => other,
            };
            (Token::Sign(sign), first.len_utf8())
        };
        found.push(token);
        if found.len() > LONGEST {
            return None;
        }
        rest = rest[length..].trim_start();
    }
    Some(found)
}

/// The length of the number at the beginning of `text`. A point counts only if a digit follows: otherwise it ends a
/// sentence.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    match text[whole..].strip_prefix('.').map(digits) {
        Some(decimals) if decimals > 0 => whole + 1 + decimals,
        _ => whole,
    }
}
