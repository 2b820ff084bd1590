//! Expressions of type `list[int]`.

use rand::Rng as _;

use super::Grammar;
use crate::expr::{Binding, Expr, Type};

impl Grammar<'_> {
    pub(super) fn ints(&mut self, operators: u32) -> Option<Expr> {
        let left = operators.saturating_sub(1);
        match self.rng.random_range(0..17) {
            0..=2 => {
                let list = self.operand(Type::Ints, left)?;
                Some(match self.pick(&["sorted", "reverse", "unique"]) {
                    "sorted" => Expr::atom(format!("sorted({list})")),
                    "reverse" => Expr::atom(format!("{}[::-1]", list.object())),
                    _ => Expr::atom(format!("sorted(set({list}))")),
                })
            }
            3 | 4 => {
                let list = self.operand(Type::Ints, left)?.object();
                let slice = self.pick(&["[1:]", "[:-1]", "[::2]", "[:2]", "[2:]", "[-2:]"]);
                Some(Expr::atom(format!("{list}{slice}")))
            }
            5 => {
                let first = self.operand(Type::Ints, left)?;
                let second = self.operand_unlike(Type::Ints, left / 2, &first)?;
                Some(Expr::binary(Binding::Sum, &first, "+", &second))
            }
            6 | 7 => {
                let (list, item) = (self.operand(Type::Ints, left / 2)?, self.operand(Type::Int, left)?);
                let single = Expr::atom(format!("[{item}]"));
                Some(if self.rng.random_bool(0.5) {
                    Expr::binary(Binding::Sum, &list, "+", &single)
                } else {
                    Expr::binary(Binding::Sum, &single, "+", &list)
                })
            }
            8..=12 => self.comprehension(left),
            13 => {
                let first = self.operand(Type::Int, left)?;
                let second = self.operand_unlike(Type::Int, left, &first)?;
                Some(Expr::atom(format!("[{first},{second}]")))
            }
            14 => {
                let words = self.variable(Type::Strs)?;
                if self.is_bound("c") {
                    return None;
                }
                Some(Expr::atom(format!("[len(c) for c in {words}]")))
            }
            15 => {
                let dictionary = self.variable(Type::Dict)?;
                let function = self.pick(&["list", "sorted"]);
                Some(Expr::atom(format!("{function}({dictionary}.values())")))
            }
            _ => {
                let (stop, number) = (self.rng.random_range(3..=6), self.operand(Type::Int, left.min(1))?);
                let number = Expr::binary(Binding::Product, &number, "%", &Expr::atom(stop.to_string()));
                Some(Expr::atom(format!("list(range({number}))")))
            }
        }
    }

    /// `[E for v in x]`, `[v for v in x if C]` or both at once.
    fn comprehension(&mut self, left: u32) -> Option<Expr> {
        if self.is_bound("v") {
            return None;
        }
        let list = self.operand(Type::Ints, left.saturating_sub(1).min(1))?;
        self.bind("v", Type::Int);
        let filtered = self.rng.random_bool(0.4);
        let mapped = !filtered || (left > 1 && self.rng.random_bool(0.4));
        let item = if mapped { self.expression(Type::Int, left.clamp(1, 2)) } else { Some(Expr::atom("v")) };
        let condition = if filtered { self.condition_about("v", Type::Int).map(Some) } else { Some(None) };
        self.unbind("v");
        let (item, condition) = (item?, condition?);
        let item_text = item.at(Binding::Ternary);
        if !names(&item_text).any(|name| name == "v") {
            return None;
        }
        Some(Expr::atom(match condition {
            None => format!("[{item_text} for v in {list}]"),
            Some(condition) => format!("[{item_text} for v in {list} if {condition}]"),
        }))
    }
}

/// The words of a piece of code.
pub(super) fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}
