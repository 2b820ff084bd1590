//! The Python interpreter: where it is, and the files, shared libraries and packages that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

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
        let from_environment = || std::env::var_os("LYCEUM_PYTHON").filter(|name| !name.is_empty()).map(PathBuf::from);
        let chosen = named
            .map(Path::to_owned)
            .or_else(from_environment)
            .or_else(virtual_environment)
            .unwrap_or_else(|| PathBuf::from("python3"));
        Self::probe(&chosen)
    }

    fn probe(python: &Path) -> Result<Self, SandboxError> {
        let fault = |reason: String| SandboxError::Interpreter { python: python.to_owned(), reason };
        let output = Command::new(python)
            .args(["-s", "-c", PROBE])
            .env_remove("PYTHONHOME")
            .env_remove("PYTHONPATH")
            .output()
            .map_err(|error| fault(error.to_string()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(fault(text.lines().last().unwrap_or("it failed without a word").to_owned()));
        }
        let interpreter: Self = serde_json::from_slice(&output.stdout).map_err(|error| fault(error.to_string()))?;
        let mut numbers = interpreter.version.split('.').map(|part| part.parse().unwrap_or(0));
        let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if version < (3, 9) {
            return Err(fault(format!("it is Python {}; 3.9 or later is needed", interpreter.version)));
        }
        Ok(interpreter)
    }

    /// What every confined interpreter may read: itself, its standard library, and the time zones.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let zones = PathBuf::from("/usr/share/zoneinfo");
        let mut readable = vec![self.executable.clone(), self.standard_library.clone()];
        readable.extend(zones.is_dir().then_some(zones));
        readable
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
        start.ancestors().map(|folder| folder.join(".venv/bin/python")).find(|python| python.exists())
    })
}

/// Prints the files that the process has mapped.
const PRINT_MAPPED: &str = r#"
with open("/proc/self/maps") as maps:
    mapped = {line.split(None, 5)[5].strip() for line in maps if "/" in line}
sys.__stdout__.write("\n".join(sorted(path for path in mapped if path.startswith("/"))))
"#;

/// Where the loader looks for libraries and is looked for itself.
const LOADER_FOLDERS: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// The libraries that an interpreter has loaded after it ran `source`, and the links by which the loader finds them.
pub(super) fn libraries(
    interpreter: &Interpreter,
    source: &str,
    packages: &[PathBuf],
) -> Result<Vec<PathBuf>, SandboxError> {
    type Needed = (PathBuf, String, Vec<PathBuf>);
    static KNOWN: Mutex<BTreeMap<Needed, Vec<PathBuf>>> = Mutex::new(BTreeMap::new());
    let needed = (interpreter.executable.clone(), source.to_owned(), packages.to_vec());
    // Slots that start together wait here for the first one's answer.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&needed) {
        return Ok(found.clone());
    }
    let found = find(interpreter, source, packages)?;
    known.insert(needed, found.clone());
    Ok(found)
}

/// Runs the interpreter, unconfined: `source` is this crate's.
fn find(interpreter: &Interpreter, source: &str, packages: &[PathBuf]) -> Result<Vec<PathBuf>, SandboxError> {
    let fault = |reason: String| SandboxError::Interpreter { python: interpreter.executable.clone(), reason };
    let output = Command::new(&interpreter.executable)
        .args(FLAGS)
        .arg(format!("{source}\n{PRINT_MAPPED}"))
        .args(packages)
        .env_clear()
        .env("PYTHONHASHSEED", "0")
        .output()
        .map_err(|error| fault(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let last = text.lines().last().unwrap_or("it failed without a word");
        let missing = last.strip_prefix("ModuleNotFoundError: ").and_then(Package::missing);
        return Err(fault(missing.map_or_else(
            || last.to_owned(),
            |package| format!("it has no package `{package}`, which programs are to have; install it"),
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mapped: BTreeSet<PathBuf> = text.lines().map(PathBuf::from).filter(|path| path.is_file()).collect();
    let folders = mapped.iter().filter_map(|path| path.parent());
    let folders: BTreeSet<&Path> = folders.chain(LOADER_FOLDERS.map(Path::new)).collect();
    let mut found = Vec::new();
    for folder in folders {
        if folder.is_symlink() {
            found.push(folder.to_owned());
        } else {
            found.extend(links_to(&mapped, folder));
        }
    }
    found.extend(mapped);
    Ok(found)
}

/// The links in a folder that lead to one of `files`.
fn links_to(files: &BTreeSet<PathBuf>, folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let links = entries.map(|entry| entry.path()).filter(|path| path.is_symlink());
    links.filter(|link| link.canonicalize().is_ok_and(|file| files.contains(&file))).collect()
}

/// A package for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Package {
    /// NumPy.
    Numpy,
    /// SymPy.
    Sympy,
}

impl Package {
    pub const ALL: [Self; 2] = [Self::Numpy, Self::Sympy];

    /// The name by which programs import it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Numpy => "numpy",
            Self::Sympy => "sympy",
        }
    }

    /// The package whose absence made an import fail, by the interpreter's message.
    pub(crate) fn missing(message: &str) -> Option<Self> {
        let module = message.strip_prefix("No module named '")?.strip_suffix('\'')?;
        let top = module.split('.').next()?;
        Self::ALL.into_iter().find(|package| package.name() == top)
    }
}

impl Display for Package {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Package {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|package| package.name() == text);
        known.ok_or_else(|| {
            let valid = Self::ALL.map(Self::name).join(", ");
            format!("programs cannot have the package `{text}`; valid are {valid}")
        })
    }
}

/// Python source that imports them, with every part that holds machine code: a child cannot load any. Nothing else in
/// their folders can be imported afterwards.
pub(super) fn imports(packages: &[Package]) -> String {
    if packages.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name()).collect();
    let own = include_str!("../python/packages.py");
    format!("PACKAGES = {names:?}\n{own}")
}
