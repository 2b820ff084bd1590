//! An expression as text that knows how tightly it binds, so that parentheses stand only where they are needed.

use std::fmt;

/// How tightly an expression's outermost operator binds, from loosest to tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Ternary,
    Or,
    And,
    Comparison,
    Sum,
    Product,
    /// Names, literals, calls, subscripts.
    Atom,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expr {
    text: String,
    binding: Binding,
}

impl Expr {
    pub(crate) fn new(binding: Binding, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            binding,
        }
    }

    pub(crate) fn atom(text: impl Into<String>) -> Self {
        Self::new(Binding::Atom, text)
    }

    /// The text, in parentheses if it binds less tightly than its place demands.
    pub(crate) fn at(&self, binding: Binding) -> String {
        if self.binding < binding {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    /// The text as the object of a call, a subscript or a method.
    pub(crate) fn object(&self) -> String {
        self.at(Binding::Atom)
    }

    /// `left op right` of a left-associative operator.
    pub(crate) fn binary(binding: Binding, left: &Self, operator: &str, right: &Self) -> Self {
        let tighter = match binding {
            Binding::Sum => Binding::Product,
            Binding::Product => Binding::Atom,
            other => other,
        };
        Self::new(binding, format!("{}{operator}{}", left.at(binding), right.at(tighter)))
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
