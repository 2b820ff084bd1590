//! Bodies with more than one loop.

use rand::Rng as _;

use super::Lines;
use super::accumulate::{around, body, change, finish, inner, start};
use crate::grammar::Grammar;
use crate::types::Type;

/// A loop in a loop, two loops in a row, or a temporary, a loop with a branch and a last step.
pub(super) fn draw(grammar: &mut Grammar<'_>, result: Type) -> Option<Lines> {
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
