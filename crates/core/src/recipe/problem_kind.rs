//! What a problem asks for.

use serde::{Deserialize, Serialize};

use crate::verify::ProblemType;

/// What a problem asks for: the three types of Absolute Zero, and those of recipes that pose mathematics (R-Zero, SAGE) or
/// whole programs (SAGE, benchmarks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// An input that gives the shown output.
    CodeI,
    /// The output of the program on the shown input.
    CodeO,
    /// A program that maps the shown inputs to the shown outputs.
    CodeF,
    /// The answer to a question of mathematics.
    Math,
    /// A program that passes tests.
    Code,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::CodeI, Self::CodeO, Self::CodeF, Self::Math, Self::Code];

    /// The name used in SQL, in configs and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::CodeI => "code_i",
            Self::CodeO => "code_o",
            Self::CodeF => "code_f",
            Self::Math => "math",
            Self::Code => "code",
        }
    }
}

impl From<ProblemType> for ProblemKind {
    fn from(problem: ProblemType) -> Self {
        match problem {
            ProblemType::CodeI => Self::CodeI,
            ProblemType::CodeO => Self::CodeO,
            ProblemType::CodeF => Self::CodeF,
        }
    }
}
