//! Conditions.

use rand::Rng as _;

use super::Grammar;
use crate::expr::{Binding, Expr, Type};

impl Grammar<'_> {
    /// A condition on the variables in scope.
    pub(crate) fn condition(&mut self, operators: u32) -> Option<Expr> {
        let types = self.types_in_scope();
        if types.is_empty() {
            return None;
        }
        let of = self.pick(&types);
        let first = self.comparison(of, operators)?;
        if operators < 2 || self.rng.random_bool(0.8) {
            return Some(first);
        }
        let of = self.pick(&types);
        let second = self.comparison(of, 1)?;
        if first == second {
            return None;
        }
        let (binding, word) = self.pick(&[(Binding::And, " and "), (Binding::Or, " or ")]);
        Some(Expr::binary(binding, &first, word, &second))
    }

    fn comparison(&mut self, of: Type, operators: u32) -> Option<Expr> {
        match of {
            Type::Int => {
                let first = self.operand(Type::Int, operators.saturating_sub(1))?;
                if self.rng.random_bool(0.35) {
                    let second = self.operand_unlike(Type::Int, 0, &first)?;
                    let operator = self.pick(&[">", "<", ">", "<", "=="]);
                    return Some(Expr::binary(Binding::Comparison, &first, operator, &second));
                }
                Some(self.int_test(&first))
            }
            Type::Str => {
                let text = self.variable(Type::Str)?;
                Some(self.text_test(&text))
            }
            Type::Ints => {
                let list = self.variable(Type::Ints)?;
                Some(match self.rng.random_range(0..4) {
                    0 => Expr::new(Binding::Comparison, format!("{list}[0]{}{list}[-1]", self.pick(&[">", "<"]))),
                    1 => Expr::new(Binding::Comparison, format!("sum({list})>{}", self.rng.random_range(5..=15))),
                    2 => Expr::new(Binding::Comparison, format!("{} in {list}", self.rng.random_range(0..=9))),
                    _ => Expr::new(Binding::Comparison, format!("len({list})>{}", self.rng.random_range(2..=3))),
                })
            }
            Type::Strs => {
                let words = self.variable(Type::Strs)?;
                Some(if self.rng.random_bool(0.5) {
                    Expr::new(Binding::Comparison, format!("len({words})>2"))
                } else {
                    Expr::new(Binding::Comparison, format!("{words}[0]{}{words}[-1]", self.pick(&[">", "<"])))
                })
            }
            Type::Dict => {
                let (dictionary, letter) = (self.variable(Type::Dict)?, self.letter());
                Some(Expr::new(Binding::Comparison, format!("{letter} in {dictionary}")))
            }
        }
    }

    /// A condition on one variable.
    pub(crate) fn condition_about(&mut self, name: &'static str, of: Type) -> Option<Expr> {
        let variable = Expr::atom(name);
        match of {
            Type::Int => Some(self.int_test(&variable)),
            Type::Str => Some(self.text_test(&variable)),
            Type::Ints | Type::Strs | Type::Dict => None,
        }
    }

    fn int_test(&mut self, number: &Expr) -> Expr {
        match self.rng.random_range(0..5) {
            0 | 1 => {
                let divisor = self.rng.random_range(2..=3);
                let remainder = self.rng.random_range(0..divisor);
                let modulo = Expr::binary(Binding::Product, number, "%", &Expr::atom(divisor.to_string()));
                Expr::new(Binding::Comparison, format!("{modulo}=={remainder}"))
            }
            _ => {
                let (operator, bound) = (self.pick(&[">", "<"]), self.rng.random_range(2..=8));
                Expr::new(Binding::Comparison, format!("{}{operator}{bound}", number.at(Binding::Sum)))
            }
        }
    }

    fn text_test(&mut self, text: &Expr) -> Expr {
        let letter = self.letter();
        let test = match self.rng.random_range(0..4) {
            0 => format!("{letter} in {text}"),
            1 => format!("{text}>{letter}"),
            2 => format!("{text}[0]=={letter}"),
            _ => format!("len({text})>{}", self.rng.random_range(1..=3)),
        };
        Expr::new(Binding::Comparison, test)
    }
}
