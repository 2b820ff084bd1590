//! Expressions of type `str`.

use rand::Rng as _;

use super::Grammar;
use crate::expr::{Binding, Expr, Type};

impl Grammar<'_> {
    pub(super) fn text(&mut self, operators: u32) -> Option<Expr> {
        let left = operators.saturating_sub(1);
        match self.rng.random_range(0..18) {
            0..=2 => {
                let first = self.operand(Type::Str, left)?;
                let second = if self.rng.random_bool(0.5) {
                    self.operand_unlike(Type::Str, left / 2, &first)?
                } else {
                    Expr::atom(self.letter())
                };
                if self.rng.random_bool(0.35) && second.to_string().starts_with('\'') {
                    return Some(Expr::binary(Binding::Sum, &second, "+", &first));
                }
                Some(Expr::binary(Binding::Sum, &first, "+", &second))
            }
            3 => {
                let first = self.operand(Type::Str, left)?;
                let times = Expr::atom(self.rng.random_range(2..=3).to_string());
                Some(Expr::binary(Binding::Product, &first, "*", &times))
            }
            4..=7 => {
                let text = self.operand(Type::Str, left)?.object();
                let slice = self.pick(&["[::-1]", "[1:]", "[:-1]", "[::2]", "[:2]", "[2:]", "[0]", "[-1]", "[1]"]);
                Some(Expr::atom(format!("{text}{slice}")))
            }
            8..=10 => {
                let text = self.operand(Type::Str, left)?.object();
                let method = self.pick(&["upper", "title", "swapcase", "upper"]);
                Some(Expr::atom(format!("{text}.{method}()")))
            }
            11 | 12 => {
                let text = self.operand(Type::Str, left)?.object();
                let (old, new) = (self.letter(), self.letter());
                (old != new).then(|| Expr::atom(format!("{text}.replace({old},{new})")))
            }
            13 => {
                let text = self.operand(Type::Str, left)?.object();
                let letter = self.letter();
                Some(Expr::atom(format!("{text}.strip({letter})")))
            }
            14 => {
                let number = self.operand(Type::Int, left)?;
                Some(Expr::atom(format!("str({number})")))
            }
            15 => {
                let text = self.operand(Type::Str, left)?;
                Some(Expr::atom(format!("''.join(sorted({text}))")))
            }
            16 => {
                let words = self.operand(Type::Strs, left)?;
                let separator = self.pick(&["''", "'-'"]);
                Some(Expr::atom(format!("{separator}.join({words})")))
            }
            _ => {
                let (words, at) = (self.operand(Type::Strs, left.min(1))?.object(), self.pick(&["[0]", "[1]", "[-1]"]));
                Some(Expr::atom(format!("{words}{at}")))
            }
        }
    }
}
