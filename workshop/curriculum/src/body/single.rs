//! Bodies without branches and loops.

use super::Lines;
use crate::grammar::Grammar;
use crate::types::Type;

/// `return E`
pub(super) fn expression(grammar: &mut Grammar<'_>, result: Type, operators: u32) -> Option<Lines> {
    let mut lines = Lines::default();
    lines.push(0, format!("return {}", grammar.expression(result, operators)?));
    Some(lines)
}

/// A temporary, then an expression that uses it.
pub(super) fn temporary(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let types = grammar.types_in_scope();
    let of = if grammar.pick(&[true, false]) {
        result
    } else {
        grammar.pick(&types)
    };
    let value = grammar.expression(of, 1)?;
    grammar.bind("m", of);
    let mut lines = Lines::default();
    lines.push(0, format!("m={value}"));
    lines.push(0, format!("return {}", grammar.expression(result, 2)?));
    Some(lines)
}
