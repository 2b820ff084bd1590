//! What a dataset is for.

use serde::{Deserialize, Serialize};

/// What a dataset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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

crate::named!(Purpose, "a purpose of datasets");
