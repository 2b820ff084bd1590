//! What a dataset is for.

use serde::{Deserialize, Serialize};

/// What a dataset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Problems that proposers start from.
    Seeds,
    /// Hard problems that lemmas are made for (GASP).
    Goalposts,
    /// Problems to learn from.
    Training,
    /// Problems to measure with.
    Benchmark,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 4] = [Self::Seeds, Self::Goalposts, Self::Training, Self::Benchmark];

    /// The name used in SQL and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seeds => "seeds",
            Self::Goalposts => "goalposts",
            Self::Training => "training",
            Self::Benchmark => "benchmark",
        }
    }
}
