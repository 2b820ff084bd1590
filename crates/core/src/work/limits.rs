//! Limits of programs.

use serde::{Deserialize, Serialize};

/// Limits of the programs that an item judges. Verdicts depend on them, so they come from the run's config and not from the
/// worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProgramLimits {
    /// CPU time in seconds that a call of a program may take; programs under test have twice as much. An endless program
    /// costs this whenever it is met. Left out, the worker's: 5 s unless `--cpu-seconds` says otherwise.
    #[schemars(range(min = 0.05, max = 300.0))]
    pub cpu_seconds: Option<f64>,
}

impl ProgramLimits {
    /// Whether every limit is left to the worker.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
