//! Packages that programs may import, besides the standard library.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A package for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Package {
    /// NumPy.
    Numpy,
    /// SymPy.
    Sympy,
}

impl Package {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Numpy, Self::Sympy];

    /// The name by which programs import it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Numpy => "numpy",
            Self::Sympy => "sympy",
        }
    }

    /// The package whose absence made an import fail, by the interpreter's message.
    pub(crate) fn missing(message: &str) -> Option<Self> {
        let module = message.strip_prefix("No module named '")?.strip_suffix('\'')?;
        let top = module.split('.').next()?;
        Self::ALL.into_iter().find(|package| package.name() == top)
    }
}

impl Display for Package {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Package {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|package| package.name() == text);
        known.ok_or_else(|| {
            let valid = Self::ALL.map(Self::name).join(", ");
            format!("programs cannot have the package `{text}`; valid are {valid}")
        })
    }
}

/// Python source that imports them, with every part that holds machine code: a child cannot load any. Nothing else in
/// their folders can be imported afterwards.
pub(super) fn imports(packages: &[Package]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name()).collect();
    let own = include_str!("../python/packages.py");
    format!("PACKAGES = {names:?}\n{own}")
}
