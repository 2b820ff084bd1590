//! Bodies with one branch.

use super::Lines;
use crate::expr::Binding;
use crate::grammar::Grammar;
use crate::types::Type;

/// `return E if C else E`
pub(super) fn ternary(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let condition = grammar.condition(1)?;
    let first = grammar.operand(result, 1)?;
    let second = grammar.operand_unlike(result, 1, &first)?;
    let (first, second) = (first.at(Binding::Or), second.at(Binding::Or));
    let mut lines = Lines::default();
    lines.push(0, format!("return {first} if {condition} else {second}"));
    Some(lines)
}

/// `if C: return E`, then `return E`.
pub(super) fn early_return(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
    let condition = grammar.condition(2)?;
    let first = grammar.operand(result, 1)?;
    let second = grammar.operand_unlike(result, 1, &first)?;
    let mut lines = Lines::default();
    lines.push(0, format!("if {condition}:"));
    lines.push(1, format!("return {first}"));
    lines.push(0, format!("return {second}"));
    Some(lines)
}
