//! The verifier's interface as plain data: one [`Task`] in, one [`Verdict`] out.
//!
//! Both are exactly the JSON lines that `lyceum-worker verify` reads and writes. Nothing here executes anything; the
//! crate `lyceum-verifier` does that.

mod fields;
mod kind;
mod line;
mod python_json;
mod task;
mod verdict;

#[cfg(test)]
mod tests;

pub use kind::ProblemKind;
pub use line::{LineError, read_line};
pub(crate) use python_json::{json_spelling, null_spelling};
pub use task::{Check, CodePair, JsonText, MathPair, Oracle, Proposal, Solution, Task, Tests, Tolerance, Wordings};
pub use verdict::{Complexity, Failure, Status, Verdict};
