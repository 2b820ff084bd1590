//! The place of an item in its run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The path of an item below its run: step / phase / round / chunk. It is the item's identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkKey {
    /// The run's unit of progress, from 0.
    pub step: u32,
    /// The part of the step, such as `propose`; named by the recipe with at most 63 of `a-z`, `0-9`, `_` and `-`.
    pub phase: String,
    /// The repetition of the phase, from 0 (rejection sampling goes in rounds).
    pub round: u32,
    /// The part of the round, from 0.
    pub chunk: u32,
}

/// The phase name is not safe in a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid phase name: use 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-`")]
pub struct NotAPhase(String);

impl WorkKey {
    /// The first chunk of the first round of `phase`.
    pub fn new(step: u32, phase: impl Into<String>) -> Self {
        Self {
            step,
            phase: phase.into(),
            round: 0,
            chunk: 0,
        }
    }

    /// The same key in another round.
    pub fn round(self, round: u32) -> Self {
        Self { round, ..self }
    }

    /// The same key in another chunk.
    pub fn chunk(self, chunk: u32) -> Self {
        Self { chunk, ..self }
    }

    /// Refuses a phase name that could be mistaken for a path.
    pub fn check(&self) -> Result<(), NotAPhase> {
        let letters = self
            .phase
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'));
        if letters && (1..=63).contains(&self.phase.len()) {
            Ok(())
        } else {
            Err(NotAPhase(self.phase.clone()))
        }
    }
}

impl fmt::Display for WorkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.step, self.phase, self.round, self.chunk)
    }
}
