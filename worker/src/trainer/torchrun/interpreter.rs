//! Whether an interpreter has what a group needs. Importing torch takes seconds; looking for it does not.

use std::path::Path;
use std::process::{Command, Stdio};

use super::TorchrunError;

const PROGRAM: &str = "
import sys
from importlib.util import find_spec
missing = [name for name in ('torch', 'transformers', 'peft', 'safetensors') if find_spec(name) is None]
if missing:
    sys.exit('it has no ' + ', '.join(missing))
";

/// Refuses an interpreter that lacks a package.
pub(super) fn check(python: &Path) -> Result<(), TorchrunError> {
    let said = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| TorchrunError::Start {
            python: python.to_owned(),
            source,
        })?;
    if said.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&said.stderr);
    let reason = match reason.trim().lines().last() {
        Some(reason) => reason.to_owned(),
        None => said.status.to_string(),
    };
    Err(TorchrunError::Unfit {
        python: python.to_owned(),
        reason,
    })
}
