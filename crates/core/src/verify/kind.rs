//! Kinds of problems.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The kind of a problem: the three types of Absolute Zero, and those of recipes with mathematics (R-Zero, SAGE) or
/// whole programs (SAGE, benchmarks).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProblemKind {
    /// Abduction: an input that produces the shown output.
    CodeI,
    /// Deduction: the output of the program on the shown input.
    CodeO,
    /// Induction: a program that maps the shown inputs to the shown outputs.
    CodeF,
    /// The answer to a mathematics question.
    Math,
    /// A program that passes tests.
    Code,
}

crate::named!(ProblemKind, "a kind of problem");

impl ProblemKind {
    /// The types of Absolute Zero and PopuLoRA: a program with its inputs and outputs, one of the three hidden.
    pub const TRIPLES: [Self; 3] = [Self::CodeI, Self::CodeO, Self::CodeF];

    /// Whether it is one of [`Self::TRIPLES`].
    #[must_use]
    pub fn is_triple(self) -> bool {
        Self::TRIPLES.contains(&self)
    }

    /// The schema of a list of [`Self::TRIPLES`], each at most once.
    pub fn triples_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "minItems": 1,
            "maxItems": 3,
            "items": { "oneOf": [
                { "const": "code_i", "description": "Abduction: an input that produces the shown output." },
                { "const": "code_o", "description": "Deduction: the output of the program on the shown input." },
                { "const": "code_f", "description": "Induction: a program that maps the shown inputs to the shown outputs." },
            ] },
        })
    }
}
