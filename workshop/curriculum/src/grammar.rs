//! Typed random expressions over the variables in scope.

mod condition;
mod dictionary;
mod int;
mod ints;
mod strs;
mod text;

use rand::Rng as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha12Rng;
use strum::VariantArray as _;

use crate::expr::{Expr, Type};

/// How often an expression is drawn again if the draw needs something not in scope.
const DRAWS: usize = 8;

/// A name that expressions can use.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) of: Type,
    uses: u32,
}

/// Draws expressions. The least used names are preferred, so programs without unused names are common.
pub(crate) struct Grammar<'a> {
    pub(crate) rng: &'a mut ChaCha12Rng,
    scope: Vec<Variable>,
}

impl<'a> Grammar<'a> {
    pub(crate) fn new(rng: &'a mut ChaCha12Rng) -> Self {
        Self { rng, scope: Vec::new() }
    }

    /// Adds a name to the scope.
    pub(crate) fn bind(&mut self, name: &'static str, of: Type) {
        self.scope.push(Variable { name, of, uses: 0 });
    }

    /// Removes a name from the scope.
    pub(crate) fn unbind(&mut self, name: &str) {
        self.scope.retain(|variable| variable.name != name);
    }

    /// Whether a name is in scope.
    pub(crate) fn is_bound(&self, name: &str) -> bool {
        self.scope.iter().any(|variable| variable.name == name)
    }

    /// A variable of a type, if one is in scope; it counts as used.
    pub(crate) fn variable(&mut self, of: Type) -> Option<Expr> {
        let least = |scope: &[Variable]| scope.iter().filter(|v| v.of == of).map(|v| v.uses).min();
        let fewest = least(&self.scope)?;
        let fresh_only = self.rng.random_bool(0.7);
        let mut fitting: Vec<&mut Variable> = self
            .scope
            .iter_mut()
            .filter(|variable| variable.of == of && (!fresh_only || variable.uses == fewest))
            .collect();
        let chosen = self.rng.random_range(0..fitting.len());
        fitting[chosen].uses += 1;
        Some(Expr::atom(fitting[chosen].name))
    }

    /// The types of the variables in scope.
    pub(crate) fn types_in_scope(&self) -> Vec<Type> {
        Type::VARIANTS.iter().copied().filter(|of| self.scope.iter().any(|variable| variable.of == *of)).collect()
    }

    /// An expression of a type with about `operators` operators and calls; at least one, so never a bare name. `None`
    /// if nothing in scope leads to that type.
    pub(crate) fn expression(&mut self, of: Type, operators: u32) -> Option<Expr> {
        for _ in 0..DRAWS {
            let drawn = match of {
                Type::Int => self.int(operators),
                Type::Str => self.text(operators),
                Type::Ints => self.ints(operators),
                Type::Strs => self.strs(operators),
                Type::Dict => self.dictionary(operators),
            };
            if drawn.is_some() {
                return drawn;
            }
        }
        None
    }

    /// Like [`Grammar::expression`], or a bare name; without operators left, a name or a one-step conversion of a name.
    pub(crate) fn operand(&mut self, of: Type, operators: u32) -> Option<Expr> {
        if operators > 0 && self.rng.random_bool(0.75) {
            return self.expression(of, operators);
        }
        self.variable(of).or_else(|| self.bridge(of))
    }

    /// A value of a type, made in one step from a variable of another type.
    fn bridge(&mut self, of: Type) -> Option<Expr> {
        let (from, ways): (Type, &[(&str, &str)]) = match of {
            Type::Int => self.pick(&[
                (
                    Type::Ints,
                    &[("sum(", ")"), ("len(", ")"), ("max(", ")"), ("min(", ")"), ("", "[0]"), ("", "[-1]")][..],
                ),
                (Type::Ints, &[("sum(", ")"), ("", "[1]"), ("", "[0]"), ("", "[-1]")]),
                (Type::Str, &[("len(", ")")]),
                (Type::Dict, &[("sum(", ".values())"), ("max(", ".values())")]),
            ]),
            Type::Str => self.pick(&[(Type::Strs, &[("", "[0]"), ("", "[-1]")][..]), (Type::Int, &[("str(", ")")])]),
            Type::Ints => (Type::Dict, &[("list(", ".values())"), ("sorted(", ".values())")]),
            Type::Strs => self.pick(&[
                (Type::Str, &[("list(", ")"), ("sorted(", ")")][..]),
                (Type::Dict, &[("sorted(", ")"), ("list(", ")")]),
            ]),
            Type::Dict => return None,
        };
        let variable = self.variable(from)?;
        let (before, after) = self.pick(ways);
        Some(Expr::atom(format!("{before}{variable}{after}")))
    }

    /// An operand whose text differs from that of `other`.
    pub(crate) fn operand_unlike(&mut self, of: Type, operators: u32, other: &Expr) -> Option<Expr> {
        let drawn = self.operand(of, operators)?;
        (drawn != *other).then_some(drawn)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        match from.choose(self.rng) {
            Some(chosen) => *chosen,
            None => unreachable!("there is always something to choose from"),
        }
    }

    /// A positive constant, usually of one digit.
    pub(crate) fn constant(&mut self) -> i64 {
        if self.rng.random_bool(0.85) { self.rng.random_range(1..=9) } else { self.rng.random_range(10..=20) }
    }

    /// A letter that occurs in inputs, in quotes.
    pub(crate) fn letter(&mut self) -> String {
        let letter = self.pick(&crate::execute::LETTERS);
        format!("'{letter}'")
    }
}
