//! Finds the Python interpreter and the files it needs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::SandboxError;

/// Asks an interpreter for its real path: a name on the PATH may be a version manager's shim.
const PROBE: &str = r#"
import json, os, sys, sysconfig
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "base_prefix": os.path.realpath(sys.base_prefix),
    "version": sys.version.split()[0],
    "standard_library": os.path.realpath(sysconfig.get_path("stdlib")),
    "packages": sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}),
}))
"#;

/// How a zygote's interpreter runs: without the user's packages, the site's, and files of bytecode.
pub(super) const FLAGS: [&str; 6] = ["-s", "-S", "-B", "-W", "ignore", "-c"];

/// An interpreter, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Interpreter {
    /// The real executable, not a shim or link.
    pub executable: PathBuf,
    /// Its installation prefix; for a virtual environment, that of its Python.
    pub base_prefix: PathBuf,
    /// Such as `3.11.2`.
    pub version: String,
    /// The folder of the standard library.
    pub standard_library: PathBuf,
    /// Its package folders, for Math-Verify and the packages that programs may import.
    pub packages: Vec<PathBuf>,
}

impl Interpreter {
    /// Resolves the interpreter to use: `named`, else `LYCEUM_PYTHON`, else `.venv/bin/python` in or above the current
    /// folder or above the running executable, else `python3` on the PATH.
    ///
    /// # Errors
    /// If there is none, or it does not run.
    pub fn resolve(named: Option<&Path>) -> Result<Self, SandboxError> {
        let from_environment = || {
            std::env::var_os("LYCEUM_PYTHON")
                .filter(|name| !name.is_empty())
                .map(PathBuf::from)
        };
        let chosen = named
            .map(Path::to_owned)
            .or_else(from_environment)
            .or_else(virtual_environment)
            .unwrap_or_else(|| PathBuf::from("python3"));
        Self::probe(&chosen)
    }

    fn probe(python: &Path) -> Result<Self, SandboxError> {
        let fault = |reason: String| SandboxError::Interpreter {
            python: python.to_owned(),
            reason,
        };
        let output = Command::new(python)
            .args(["-s", "-c", PROBE])
            .env_remove("PYTHONHOME")
            .env_remove("PYTHONPATH")
            .output()
            .map_err(|error| fault(error.to_string()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(fault(
                text.lines().last().unwrap_or("it failed without a word").to_owned(),
            ));
        }
        let interpreter: Self = serde_json::from_slice(&output.stdout).map_err(|error| fault(error.to_string()))?;
        let mut numbers = interpreter.version.split('.').map(|part| part.parse().unwrap_or(0));
        let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < (3, 9) {
            return Err(fault(format!(
                "it is Python {}; 3.9 or later is needed",
                interpreter.version
            )));
        }
        Ok(interpreter)
    }

    /// What every confined interpreter may read: itself and its standard library.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        vec![self.executable.clone(), self.standard_library.clone()]
    }
}

/// The paths without those inside another.
pub(super) fn outermost(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let paths: BTreeSet<PathBuf> = paths.into_iter().collect();
    let is_inside = |path: &PathBuf| paths.iter().any(|other| other != path && path.starts_with(other));
    paths.iter().filter(|path| !is_inside(path)).cloned().collect()
}

fn virtual_environment() -> Option<PathBuf> {
    let current = std::env::current_dir().ok();
    let executable = std::env::current_exe().ok();
    [current, executable].into_iter().flatten().find_map(|start| {
        start
            .ancestors()
            .map(|folder| folder.join(".venv/bin/python"))
            .find(|python| python.exists())
    })
}
