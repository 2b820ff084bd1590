//! Expressions of the programs of the curriculum: their types, and their texts with binding strength, so that parentheses are added only where they are needed.

use std::fmt;

use strum::VariantArray as _;

/// Binding strength of an expression's outermost operator, from loosest to tightest.
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
        Self { text: text.into(), binding }
    }

    pub(crate) fn atom(text: impl Into<String>) -> Self {
        Self::new(Binding::Atom, text)
    }

    /// The text, in parentheses if it binds less tightly than `binding`.
    pub(crate) fn at(&self, binding: Binding) -> String {
        if self.binding < binding { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The text as the target of a call, subscript or method.
    pub(crate) fn object(&self) -> String {
        self.at(Binding::Atom)
    }

    /// `left op right` for a left-associative operator.
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

/// A Python type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::VariantArray, strum::Display)]
pub enum Type {
    #[strum(to_string = "int")]
    Int,
    #[strum(to_string = "str")]
    Str,
    /// `list[int]`
    #[strum(to_string = "list[int]")]
    Ints,
    /// `list[str]`
    #[strum(to_string = "list[str]")]
    Strs,
    /// `dict[str, int]`
    #[strum(to_string = "dict[str, int]")]
    Dict,
}

impl Type {
    /// The type of a parameter with this name.
    pub(crate) fn of_parameter(name: &str) -> Option<Self> {
        let mut all = Self::VARIANTS.iter().copied();
        all.find(|of| of.parameter_names().contains(&name))
    }

    /// Names of parameters of this type: a name determines its type.
    pub(crate) fn parameter_names(self) -> &'static [&'static str] {
        match self {
            Self::Int => &["a", "b", "n"],
            Self::Str => &["s", "t"],
            Self::Ints => &["x", "y"],
            Self::Strs => &["w"],
            Self::Dict => &["d"],
        }
    }
}
