//! Expressions of type `list[str]`.

use rand::Rng as _;

use super::Grammar;
use super::ints::names;
use crate::expr::{Binding, Expr, Type};

impl Grammar<'_> {
    pub(super) fn strs(&mut self, operators: u32) -> Option<Expr> {
        let left = operators.saturating_sub(1);
        match self.rng.random_range(0..11) {
            0 | 1 => {
                let words = self.operand(Type::Strs, left)?;
                Some(if self.rng.random_bool(0.5) {
                    Expr::atom(format!("sorted({words})"))
                } else {
                    Expr::atom(format!("{}[::-1]", words.object()))
                })
            }
            2 => {
                let words = self.operand(Type::Strs, left)?.object();
                let slice = self.pick(&["[1:]", "[:-1]", "[:2]"]);
                Some(Expr::atom(format!("{words}{slice}")))
            }
            3 | 4 => {
                let (words, item) = (self.operand(Type::Strs, 0)?, self.operand(Type::Str, left)?);
                let single = Expr::atom(format!("[{item}]"));
                Some(if self.rng.random_bool(0.5) {
                    Expr::binary(Binding::Sum, &words, "+", &single)
                } else {
                    Expr::binary(Binding::Sum, &single, "+", &words)
                })
            }
            5 | 6 => {
                let text = self.operand(Type::Str, left)?;
                let function = self.pick(&["list", "sorted"]);
                Some(Expr::atom(format!("{function}({text})")))
            }
            7 => {
                let (dictionary, function) = (self.variable(Type::Dict)?, self.pick(&["list", "sorted"]));
                Some(Expr::atom(format!("{function}({dictionary})")))
            }
            8 => {
                let first = self.operand(Type::Str, left)?;
                let second = self.operand_unlike(Type::Str, left, &first)?;
                Some(Expr::atom(format!("[{first},{second}]")))
            }
            _ => self.words_comprehension(left),
        }
    }

    /// `[E for c in w]` or `[c for c in w if C]`, over a list of words or the letters of one.
    fn words_comprehension(&mut self, left: u32) -> Option<Expr> {
        if self.is_bound("c") {
            return None;
        }
        let of = self.pick(&[Type::Strs, Type::Strs, Type::Str]);
        let list = self.operand(of, 0)?;
        self.bind("c", Type::Str);
        let drawn = if self.rng.random_bool(0.6) {
            self.expression(Type::Str, left.clamp(1, 2)).map(|item| (item, None))
        } else {
            self.condition_about("c", Type::Str).map(|condition| (Expr::atom("c"), Some(condition)))
        };
        self.unbind("c");
        let (item, condition) = drawn?;
        if !names(&item.to_string()).any(|name| name == "c") {
            return None;
        }
        Some(Expr::atom(match condition {
            None => format!("[{item} for c in {list}]"),
            Some(condition) => format!("[{item} for c in {list} if {condition}]"),
        }))
    }
}
