//! Types of values in the programs of the curriculum.

use strum::VariantArray as _;

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
