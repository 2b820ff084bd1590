//! Bodies of programs, one shape per file, and the choice of shape and size by level.

mod accumulate;
mod branch;
mod nested;
mod single;

use crate::grammar::Grammar;
use crate::program::Level;
use crate::types::Type;
use rand::Rng as _;

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
            single::expression(grammar, result, operators)
        }
        2 => match grammar.rng.random_range(0..5) {
            0 | 1 => single::expression(grammar, result, 3),
            2 => single::temporary(grammar, result),
            3 => branch::ternary(grammar, result),
            _ => branch::early_return(grammar, result),
        },
        3 => accumulate::plain(grammar, result),
        4 => accumulate::branching(grammar, result),
        _ => nested::draw(grammar, result),
    }
}
