//! The verifier's interface as plain data: one [`Task`] in, one [`Verdict`] out.
//!
//! Both are exactly the JSON lines that `lyceum-worker verify` reads and writes. Nothing here executes anything; the
//! crate `lyceum-verifier` does that.

mod fields;
mod reward;
mod task;
#[cfg(test)]
mod tests;

pub use self::fields::{LineError, read_line};
pub(crate) use self::fields::{json_spelling, null_spelling};
pub use self::reward::{
    CORRECT, MAX_REWARD_FILE, MAX_REWARD_PARTS, MAX_REWARD_TIMEOUT, Reward, RewardPackage, SCORE, check_reward,
    is_part_name, secret_in,
};
pub use self::task::{
    Check, CodePair, JsonText, MathPair, Oracle, Proposal, Solution, Task, Tests, Tolerance, Wordings,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{IntoStaticStr, VariantArray};

/// The kind of a problem: the three types of Absolute Zero, and those of recipes with mathematics (R-Zero, SAGE) or
/// whole programs (SAGE, benchmarks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
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

/// How the execution behind a verdict ended. Whether an answer is correct is in [`Verdict::correct`], not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// Everything ran to its end and could be compared.
    Ok,
    /// The task, program, input or answer could not be read.
    Malformed,
    /// A program raised, crashed, or broke the protocol of the sandbox.
    Error,
    /// A program used up its CPU time or reached the wall-clock limit.
    Timeout,
    /// A program reached its memory limit.
    Memory,
    /// Two executions of the same program on the same input gave different values.
    Nondeterministic,
    /// A proposal imports a module banned by the papers.
    Unsafe,
    /// A value is not one of Python's exact built-in types, is too deep, or too large.
    Unserialisable,
}

crate::named!(Status, "a status of a verdict");

/// The structural complexity of a program (PopuLoRA, section 10, "Structural complexity metrics").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complexity {
    /// Maximum nesting depth of the syntax tree; the module is 1, and expression contexts are not counted.
    pub ast_depth: u32,
    /// 1 + the number of if, elif, for, while, except, and, or, assert; a comprehension's `for` counts.
    pub cyclomatic: u32,
    /// Lines that are neither blank nor only a comment.
    pub loc: u32,
    /// Distinct identifiers introduced as variables.
    pub variables: u32,
}

/// A failed test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Position of the test, from 0.
    pub index: usize,
    /// How the execution of this test ended; `ok` if it ran but gave a wrong value.
    pub status: Status,
    /// What went wrong, as text.
    pub reason: String,
}

/// A verdict. Fields that do not belong to the task's kind are absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The task's id; `None` (null) only for an input line without a readable id.
    pub id: Option<String>,
    /// How the execution ended.
    pub status: Status,
    /// The reason, as text; empty if there is none.
    pub reason: String,
    /// Wall-clock time of the verdict in milliseconds, without waiting for a free slot.
    pub millis: f64,
    /// `propose`: whether the proposal may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// `propose` of type `code_i` or `code_o`: the repr of the program's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// `propose` of type `code_f`: the repr of the output for each input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Vec<String>>,
    /// `propose`: complexity of the program, whenever it could be parsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Complexity>,
    /// `solve`, `tests`, `math`: whether the answer is correct. `reward`: whether its part `correct`, or else the sum of its
    /// parts, is at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct: Option<bool>,
    /// `solve` of type `code_f`, and `tests`: how many pairs or tests passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<usize>,
    /// `solve` of type `code_f`, and `tests`: how many pairs or tests there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// `tests`: the failed tests, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<Vec<Failure>>,
    /// `cluster` and `repetition`: the cluster of each answer or text. Clusters are numbered from 0 in the order of their
    /// first members; an answer that cannot be read has none (null).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Vec<Option<u32>>>,
    /// `reward`: the parts of the score; empty if the completion could not be scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BTreeMap<String, f64>>,
}

impl Verdict {
    /// A verdict with only the status of the execution; add the fields of its kind by struct update.
    #[must_use]
    pub fn bare(id: Option<String>, status: Status, reason: impl Into<String>) -> Self {
        Self {
            id,
            status,
            reason: reason.into(),
            millis: 0.0,
            valid: None,
            output: None,
            outputs: None,
            complexity: None,
            correct: None,
            passed: None,
            total: None,
            failures: None,
            clusters: None,
            parts: None,
        }
    }

    /// The share of the tests that passed, from 0 to 1. Without tests, 1 if the answer is correct, else 0.
    pub fn share_passed(&self) -> f32 {
        match (self.passed, self.total) {
            (Some(passed), Some(total)) if total > 0 => passed as f32 / total as f32,
            _ => f32::from(u8::from(self.correct == Some(true))),
        }
    }
}
