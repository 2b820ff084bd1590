//! Bodies of programs, one shape per file, and the choice of shape and size by level.

mod accumulate;

use rand::Rng as _;

use crate::expr::{Binding, Type};
use crate::grammar::Grammar;
use crate::program::Level;
use accumulate::{around, body, change, finish, inner, start};

/// Lines of a body, each with its indentation depth below `def`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines(Vec<(usize, String)>);

impl Lines {
    pub(crate) fn push(&mut self, depth: usize, line: impl Into<String>) {
        self.0.push((depth, line.into()));
    }

    /// The text below a `def` line, indented by one space per level.
    pub(crate) fn under(&self, definition: &str) -> String {
        let mut text = definition.to_owned();
        for (depth, line) in &self.0 {
            text.push('\n');
            text.extend(std::iter::repeat_n(' ', depth + 1));
            text.push_str(line);
        }
        text
    }
}

/// Draws a body of a level that returns a value of type `result`; `None` if the draw needs something not in scope.
pub(crate) fn draw(grammar: &mut Grammar<'_>, level: Level, result: Type) -> Option<Lines> {
    match level.number() {
        1 => {
            let operators = if grammar.rng.random_bool(0.7) { 1 } else { 2 };
            expression(grammar, result, operators)
        }
        2 => match grammar.rng.random_range(0..5) {
            0 | 1 => expression(grammar, result, 3),
            2 => temporary(grammar, result),
            3 => ternary(grammar, result),
            _ => early_return(grammar, result),
        },
        3 => accumulate::plain(grammar, result),
        4 => accumulate::branching(grammar, result),
        _ => two_loops(grammar, result),
    }
}

/// `return E if C else E`
fn ternary(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let condition = grammar.condition(1)?;
    let first = grammar.operand(result, 1)?;
    let second = grammar.operand_unlike(result, 1, &first)?;
    let (first, second) = (first.at(Binding::Or), second.at(Binding::Or));
    let mut lines = Lines::default();
    lines.push(0, format!("return {first} if {condition} else {second}"));
    Some(lines)
}

/// `if C: return E`, then `return E`.
fn early_return(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let condition = grammar.condition(2)?;
    let first = grammar.operand(result, 1)?;
    let second = grammar.operand_unlike(result, 1, &first)?;
    let mut lines = Lines::default();
    lines.push(0, format!("if {condition}:"));
    lines.push(1, format!("return {first}"));
    lines.push(0, format!("return {second}"));
    Some(lines)
}

/// A loop in a loop, two loops in a row, or a temporary, a loop with a branch and a last step.
fn two_loops(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let mut lines = Lines::default();
    match grammar.rng.random_range(0..3) {
        0 => {
            lines.push(0, format!("r={}", start(grammar, result)));
            around(grammar, &mut lines, |grammar, lines| inner(grammar, lines, result))?;
            lines.push(0, finish(grammar, result, 0.5)?);
        }
        1 => {
            lines.push(0, format!("r={}", start(grammar, result)));
            around(grammar, &mut lines, |grammar, lines| body(grammar, lines, result))?;
            around(grammar, &mut lines, |grammar, lines| {
                lines.push(1, change(grammar, "r", result, 2)?);
                Some(())
            })?;
            lines.push(0, finish(grammar, result, 0.5)?);
        }
        _ => {
            let types = grammar.types_in_scope();
            let of = grammar.pick(&types);
            let value = grammar.expression(of, 2)?;
            lines.push(0, format!("m={value}"));
            grammar.bind("m", of);
            lines.push(0, format!("r={}", start(grammar, result)));
            around(grammar, &mut lines, |grammar, lines| body(grammar, lines, result))?;
            lines.push(0, finish(grammar, result, 0.2)?);
        }
    }
    Some(lines)
}

/// `return E`
fn expression(grammar: &mut Grammar<'_>, result: Type, operators: u32) -> Option<Lines> {
    let mut lines = Lines::default();
    lines.push(0, format!("return {}", grammar.expression(result, operators)?));
    Some(lines)
}

/// A temporary, then an expression that uses it.
fn temporary(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let types = grammar.types_in_scope();
    let of = if grammar.pick(&[true, false]) { result } else { grammar.pick(&types) };
    let value = grammar.expression(of, 1)?;
    grammar.bind("m", of);
    let mut lines = Lines::default();
    lines.push(0, format!("m={value}"));
    lines.push(0, format!("return {}", grammar.expression(result, 2)?));
    Some(lines)
}
