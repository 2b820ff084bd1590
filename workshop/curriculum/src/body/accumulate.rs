//! Loops that build a result.

use rand::Rng as _;

use super::Lines;
use crate::expr::{Expr, Type};
use crate::grammar::Grammar;

/// The head of a loop and the names it binds.
pub(super) struct Head {
    pub(super) line: String,
    pub(super) binds: Vec<(&'static str, Type)>,
}

/// Draws the head of a loop; `outer` means that another loop encloses this one, so its names are taken.
pub(super) fn head(grammar: &mut Grammar<'_>, outer: bool) -> Option<Head> {
    let (number, text, index) = if outer { ("u", "e", "j") } else { ("v", "c", "i") };
    let types = grammar.types_in_scope();
    let of = grammar.pick(&types);
    let (line, binds) = match of {
        Type::Ints => {
            let list = grammar.variable(Type::Ints)?;
            match grammar.rng.random_range(0..5) {
                0 if !outer => (format!("for i,v in enumerate({list}):"), vec![("i", Type::Int), ("v", Type::Int)]),
                1 if !outer => (format!("for v in {list}[1:]:"), vec![("v", Type::Int)]),
                2 if !outer => (format!("for v in sorted({list}):"), vec![("v", Type::Int)]),
                _ => (format!("for {number} in {list}:"), vec![(number, Type::Int)]),
            }
        }
        Type::Str => {
            let word = grammar.variable(Type::Str)?;
            match grammar.rng.random_range(0..5) {
                0 if !outer => (format!("for i,c in enumerate({word}):"), vec![("i", Type::Int), ("c", Type::Str)]),
                1 if !outer => (format!("for c in {word}[::-1]:"), vec![("c", Type::Str)]),
                _ => (format!("for {text} in {word}:"), vec![(text, Type::Str)]),
            }
        }
        Type::Strs => {
            let words = grammar.variable(Type::Strs)?;
            (format!("for {text} in {words}:"), vec![(text, Type::Str)])
        }
        Type::Dict => {
            let dictionary = grammar.variable(Type::Dict)?;
            if outer {
                return None;
            }
            (format!("for k,v in {dictionary}.items():"), vec![("k", Type::Str), ("v", Type::Int)])
        }
        Type::Int => {
            let number = grammar.variable(Type::Int)?;
            let range = match grammar.rng.random_range(0..3) {
                0 => format!("range({number})"),
                1 => format!("range(1,{number}+1)"),
                _ => format!("range({number}%5+1)"),
            };
            (format!("for {index} in {range}:"), vec![(index, Type::Int)])
        }
    };
    Some(Head { line, binds })
}

/// The initial value of an accumulator.
pub(super) fn start(grammar: &mut Grammar<'_>, of: Type) -> String {
    match of {
        Type::Int => grammar.pick(&["0", "0", "0", "1"]).to_owned(),
        Type::Str => "''".to_owned(),
        Type::Ints | Type::Strs => "[]".to_owned(),
        Type::Dict => "{}".to_owned(),
    }
}

/// A statement that changes the accumulator `into`.
pub(super) fn change(grammar: &mut Grammar<'_>, into: &str, of: Type, operators: u32) -> Option<String> {
    Some(match of {
        Type::Int => match grammar.rng.random_range(0..8) {
            0..=3 => format!("{into}+={}", grammar.operand(Type::Int, operators)?),
            4 => format!("{into}-={}", grammar.operand(Type::Int, operators)?),
            5 => {
                let function = grammar.pick(&["max", "min"]);
                format!("{into}={function}({into},{})", grammar.operand(Type::Int, operators)?)
            }
            6 => format!("{into}={into}*2+{}", grammar.operand(Type::Int, 0)?),
            _ => format!("{into}+={}", grammar.constant()),
        },
        Type::Str => {
            let item = grammar.operand(Type::Str, operators)?;
            if grammar.rng.random_bool(0.6) { format!("{into}+={item}") } else { format!("{into}={item}+{into}") }
        }
        Type::Ints | Type::Strs => {
            let item = if of == Type::Ints { Type::Int } else { Type::Str };
            let item = grammar.operand(item, operators)?;
            if grammar.rng.random_bool(0.8) {
                format!("{into}.append({item})")
            } else {
                format!("{into}=[{item}]+{into}")
            }
        }
        Type::Dict => {
            let key = grammar.variable(Type::Str)?;
            if grammar.rng.random_bool(0.4) {
                format!(
                    "{into}[{key}]={into}.get({key},0)+{}",
                    grammar.operand(Type::Int, 0).unwrap_or(Expr::atom("1"))
                )
            } else {
                format!("{into}[{key}]={}", grammar.operand(Type::Int, operators)?)
            }
        }
    })
}

/// The returned expression: mostly the accumulator itself.
pub(super) fn finish(grammar: &mut Grammar<'_>, of: Type, plainly: f64) -> Option<String> {
    if grammar.rng.random_bool(plainly) {
        return Some("return r".to_owned());
    }
    grammar.bind("r", of);
    let answer = grammar.expression(of, 1);
    grammar.unbind("r");
    let answer = answer?.to_string();
    crate::masked::identifiers(&answer).any(|name| name == "r").then(|| format!("return {answer}"))
}

fn bind(grammar: &mut Grammar<'_>, head: &Head) {
    for &(name, of) in &head.binds {
        grammar.bind(name, of);
    }
}

fn unbind(grammar: &mut Grammar<'_>, head: &Head) {
    for (name, _) in &head.binds {
        grammar.unbind(name);
    }
}

/// A loop with one change in it, or a loop that counts down.
pub(super) fn plain(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let mut lines = Lines::default();
    lines.push(0, format!("r={}", start(grammar, result)));
    if grammar.rng.random_bool(0.12) {
        let number = grammar.variable(Type::Int)?;
        let step = grammar.pick(&["-=1", "-=2", "-=3", "//=2", "//=3"]);
        lines.push(0, format!("while {number}>0:"));
        lines.push(1, change(grammar, "r", result, 1)?);
        lines.push(1, format!("{number}{step}"));
    } else {
        let head = head(grammar, false)?;
        lines.push(0, head.line.clone());
        bind(grammar, &head);
        lines.push(1, change(grammar, "r", result, 1)?);
        unbind(grammar, &head);
    }
    lines.push(0, finish(grammar, result, 0.8)?);
    Some(lines)
}

/// A loop with a branch in it: two changes, a change under a condition, `continue`, `break` or an early return.
pub(super) fn branching(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let mut lines = Lines::default();
    lines.push(0, format!("r={}", start(grammar, result)));
    let head = head(grammar, false)?;
    lines.push(0, head.line.clone());
    bind(grammar, &head);
    body(grammar, &mut lines, result)?;
    unbind(grammar, &head);
    lines.push(0, finish(grammar, result, 0.7)?);
    Some(lines)
}

/// The branch inside the loop, one level below it.
pub(super) fn body(grammar: &mut Grammar<'_>, lines: &mut Lines, result: Type) -> Option<()> {
    let condition = grammar.condition(1)?;
    match grammar.rng.random_range(0..8) {
        0..=2 => {
            let first = change(grammar, "r", result, 1)?;
            let second = change(grammar, "r", result, 1)?;
            if first == second {
                return None;
            }
            lines.push(1, format!("if {condition}:"));
            lines.push(2, first);
            lines.push(1, "else:");
            lines.push(2, second);
        }
        3 | 4 => {
            lines.push(1, format!("if {condition}:"));
            lines.push(2, change(grammar, "r", result, 1)?);
        }
        5 => {
            lines.push(1, format!("if {condition}:"));
            lines.push(2, "continue");
            lines.push(1, change(grammar, "r", result, 1)?);
        }
        6 => {
            lines.push(1, change(grammar, "r", result, 1)?);
            lines.push(1, format!("if {condition}:"));
            lines.push(2, "break");
        }
        _ => {
            lines.push(1, format!("if {condition}:"));
            lines.push(2, format!("return {}", grammar.operand(result, 1)?));
            lines.push(1, change(grammar, "r", result, 1)?);
        }
    }
    Some(())
}

/// A loop around the lines that `inside` writes.
pub(super) fn around(
    grammar: &mut Grammar<'_>,
    lines: &mut Lines,
    inside: impl FnOnce(&mut Grammar<'_>, &mut Lines) -> Option<()>,
) -> Option<()> {
    let head = head(grammar, false)?;
    lines.push(0, head.line.clone());
    bind(grammar, &head);
    inside(grammar, lines)?;
    unbind(grammar, &head);
    Some(())
}

/// A loop inside a loop, with one change in it, perhaps under a condition.
pub(super) fn inner(grammar: &mut Grammar<'_>, lines: &mut Lines, result: Type) -> Option<()> {
    let head = head(grammar, true)?;
    lines.push(1, head.line.clone());
    bind(grammar, &head);
    let depth = if grammar.rng.random_bool(0.6) {
        lines.push(2, format!("if {}:", grammar.condition(1)?));
        3
    } else {
        2
    };
    lines.push(depth, change(grammar, "r", result, 2)?);
    unbind(grammar, &head);
    Some(())
}
