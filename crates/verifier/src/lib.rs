//! Judges untrusted Python in a sandbox. Code written by a model is never evaluated outside the sandbox, and verdicts
//! are never read from inside it.
//!
//! [`Verifier`] is the pool. It takes a [`Task`] and returns a [`Verdict`]; both are plain data of `lyceum-core`.
//!
//! ```no_run
//! use lyceum_verifier::{Solution, Verifier, VerifierConfig};
//!
//! let verifier = Verifier::start(&VerifierConfig::default())?;
//! let answer = Solution::Output {
//!     program: "def f(a):\n    return a + 1".into(),
//!     input: "1".into(),
//!     answer: "2".into(),
//! };
//! assert_eq!(verifier.grade("first", answer).correct, Some(true));
//! # Ok::<(), lyceum_verifier::SandboxError>(())
//! ```

mod execution;
mod gold;
mod judge;
pub mod literal;
pub mod program;
mod rational;
pub mod sandbox;
mod slot;
pub mod value;
mod verifier;

pub use judge::Unjudged;
pub use lyceum_core::verify::{
    Check, CodePair, Complexity, Failure, JsonText, LineError, MathPair, Oracle, ProblemKind, Proposal, Reward,
    RewardPackage, Solution, Status, Task, Tests, Tolerance, Verdict, Wordings, read_line,
};
pub use sandbox::{Interpreter, Layers, Limits, Namespaces, Package, SandboxError};
pub use value::Comparison;
pub use verifier::{Verifier, VerifierConfig};
