//! Types of values in the programs of the curriculum.

use std::fmt;

/// A Python type of a parameter or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// `int`
    Int,
    /// `str`
    Str,
    /// `list[int]`
    Ints,
    /// `list[str]`
    Strs,
    /// `dict[str, int]`
    Dict,
}

impl Type {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Int, Self::Str, Self::Ints, Self::Strs, Self::Dict];

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

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Int => "int",
            Self::Str => "str",
            Self::Ints => "list[int]",
            Self::Strs => "list[str]",
            Self::Dict => "dict[str, int]",
        })
    }
}
