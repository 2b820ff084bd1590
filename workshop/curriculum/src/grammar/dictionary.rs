//! Expressions of type `dict[str, int]`.

use rand::Rng as _;

use super::Grammar;
use super::ints::names;
use crate::expr::{Expr, Type};

impl Grammar<'_> {
    pub(super) fn dictionary(&mut self, operators: u32) -> Option<Expr> {
        let left = operators.saturating_sub(1).clamp(1, 2);
        match self.rng.random_range(0..7) {
            0 | 1 => self.mapped_values(left),
            2 => {
                if self.is_bound("c") {
                    return None;
                }
                let text = self.variable(Type::Str)?;
                Some(Expr::atom(format!("{{c:{text}.count(c) for c in {text}}}")))
            }
            3 => {
                if self.is_bound("c") {
                    return None;
                }
                let words = self.variable(Type::Strs)?;
                Some(Expr::atom(format!("{{c:len(c) for c in {words}}}")))
            }
            4 => {
                let (text, list) = (self.operand(Type::Str, 0)?, self.operand(Type::Ints, left - 1)?);
                Some(Expr::atom(format!("dict(zip({text},{list}))")))
            }
            5 => {
                let (words, list) = (self.variable(Type::Strs)?, self.operand(Type::Ints, left - 1)?);
                Some(Expr::atom(format!("dict(zip({words},{list}))")))
            }
            _ => {
                let (letter, value) = (self.letter(), self.operand(Type::Int, left - 1)?);
                let dictionary = self.variable(Type::Dict)?;
                Some(Expr::atom(format!("{{**{dictionary},{letter}:{value}}}")))
            }
        }
    }

    /// `{k:E for k,v in d.items()}`, with or without a filter.
    fn mapped_values(&mut self, left: u32) -> Option<Expr> {
        if self.is_bound("k") || self.is_bound("v") {
            return None;
        }
        let dictionary = self.variable(Type::Dict)?;
        self.bind("v", Type::Int);
        let filtered = self.rng.random_bool(0.3);
        let drawn = if filtered {
            self.condition_about("v", Type::Int).map(|condition| (Expr::atom("v"), Some(condition)))
        } else {
            self.expression(Type::Int, left).map(|value| (value, None))
        };
        self.unbind("v");
        let (value, condition) = drawn?;
        if !names(&value.to_string()).any(|name| name == "v") {
            return None;
        }
        let filter = condition.map_or(String::new(), |condition| format!(" if {condition}"));
        Some(Expr::atom(format!("{{k:{value} for k,v in {dictionary}.items(){filter}}}")))
    }
}
