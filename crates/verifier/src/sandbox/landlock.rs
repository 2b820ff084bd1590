//! Landlock: allows reading the interpreter's files, and no other access to files, the network or other processes.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};

use super::SandboxError;

/// Prepares a ruleset that a process can apply to itself later; `None` if the kernel has no Landlock.
pub(super) fn ruleset(readable: &[PathBuf]) -> Result<Option<OwnedFd>, SandboxError> {
    let fault = |error: landlock::RulesetError| SandboxError::Landlock(error.to_string());
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V6)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .and_then(Ruleset::create)
        .map_err(fault)?;
    // A link to a folder would open the whole folder; a linked file is in the list itself.
    for path in readable.iter().filter(|path| !path.is_symlink()) {
        let folder = PathFd::new(path).map_err(|error| SandboxError::Landlock(error.to_string()))?;
        let mut access = AccessFs::ReadFile | AccessFs::Execute;
        if path.is_dir() {
            access |= AccessFs::ReadDir;
        }
        ruleset = ruleset.add_rule(PathBeneath::new(folder, access)).map_err(fault)?;
    }
    Ok(ruleset.into())
}
