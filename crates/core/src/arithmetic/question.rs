//! Reads whole questions.

use super::expression::Expression;
use super::formula::Reader;
use super::story::story;
use super::token::{Token, tokens};
use super::wording::{ASKS, CHAIN_ENDS, CHAIN_LINKS, CHAIN_STARTS, TASKS};

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
    if let Some(expression) = whole(asked)
        .or_else(|| whole(task))
        .or_else(|| whole(given))
        .or_else(|| whole(chain))
    {
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
        let Token::Word(name) = reader.next()? else {
            return None;
        };
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
pub(super) fn separators(reader: &mut Reader<'_>) {
    while reader
        .take(|token| token.ends_sentence() || token.is_sign(',') || token.is_word("and") || token.is_word("then"))
    {
    }
}
