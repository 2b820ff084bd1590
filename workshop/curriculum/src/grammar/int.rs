//! Expressions of type `int`.

use rand::Rng as _;

use super::Grammar;
use crate::expr::{Binding, Expr, Type};

impl Grammar<'_> {
    pub(super) fn int(&mut self, operators: u32) -> Option<Expr> {
        let left = operators.saturating_sub(1);
        match self.rng.random_range(0..20) {
            0..=5 => self.arithmetic(left),
            6 => {
                let (first, function) = (self.operand(Type::Int, left)?, self.pick(&["max", "min"]));
                let second = if self.rng.random_bool(0.5) {
                    self.operand_unlike(Type::Int, 0, &first)?
                } else {
                    Expr::atom(self.constant().to_string())
                };
                Some(Expr::atom(format!("{function}({first},{second})")))
            }
            7 => {
                let first = self.operand(Type::Int, left)?;
                let second = if self.rng.random_bool(0.5) {
                    self.operand_unlike(Type::Int, 0, &first)?
                } else {
                    Expr::atom(self.constant().to_string())
                };
                Some(Expr::atom(format!("abs({})", Expr::binary(Binding::Sum, &first, "-", &second))))
            }
            8..=10 => {
                let function = self.pick(&["sum", "max", "min", "len"]);
                let list = self.operand(Type::Ints, left)?;
                Some(Expr::atom(format!("{function}({list})")))
            }
            11 | 12 => {
                let list = self.operand(Type::Ints, left.min(1))?.object();
                let at = self.pick(&["0", "1", "-1"]);
                Some(Expr::atom(format!("{list}[{at}]")))
            }
            13 => {
                let text = self.operand(Type::Str, left)?;
                Some(Expr::atom(format!("len({text})")))
            }
            14 => {
                let text = self.operand(Type::Str, left.min(1))?.object();
                let (method, letter) = (self.pick(&["count", "find"]), self.letter());
                Some(Expr::atom(format!("{text}.{method}({letter})")))
            }
            15 => {
                let list = self.variable(Type::Ints)?;
                let value = self.operand(Type::Int, 0)?;
                Some(Expr::atom(format!("{list}.count({value})")))
            }
            16 => {
                let (list, function) = (self.variable(Type::Ints)?, self.pick(&["set", "sorted"]));
                Some(match function {
                    "set" => Expr::atom(format!("len(set({list}))")),
                    _ => Expr::atom(format!("sorted({list})[1]")),
                })
            }
            17 => {
                let (words, at) = (self.variable(Type::Strs)?, self.pick(&["0", "1", "-1"]));
                Some(Expr::atom(format!("len({words}[{at}])")))
            }
            18 => {
                let (dictionary, function) = (self.variable(Type::Dict)?, self.pick(&["sum", "max", "min"]));
                Some(Expr::atom(format!("{function}({dictionary}.values())")))
            }
            _ => {
                let (dictionary, letter) = (self.variable(Type::Dict)?, self.letter());
                let default = self.rng.random_range(0..=9);
                Some(Expr::atom(format!("{dictionary}.get({letter},{default})")))
            }
        }
    }

    fn arithmetic(&mut self, left: u32) -> Option<Expr> {
        let first = self.operand(Type::Int, left)?;
        let (binding, operator) = self.pick(&[
            (Binding::Sum, "+"),
            (Binding::Sum, "+"),
            (Binding::Sum, "-"),
            (Binding::Sum, "-"),
            (Binding::Product, "*"),
            (Binding::Product, "*"),
            (Binding::Product, "%"),
            (Binding::Product, "//"),
        ]);
        let second = match operator {
            "%" => Expr::atom(self.rng.random_range(2..=9).to_string()),
            "//" => Expr::atom(self.rng.random_range(2..=5).to_string()),
            "*" if self.rng.random_bool(0.7) => Expr::atom(self.rng.random_range(2..=9).to_string()),
            _ if self.rng.random_bool(0.5) => Expr::atom(self.constant().to_string()),
            // `a+a` would be a roundabout `a*2`.
            _ => self.operand_unlike(Type::Int, left / 2, &first)?,
        };
        Some(Expr::binary(binding, &first, operator, &second))
    }
}
