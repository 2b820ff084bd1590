//! The shared libraries that an interpreter needs. The folders that they lie in may hold gigabytes of other files, which a
//! program could read for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::interpreter::FLAGS;
use super::{Interpreter, Package, SandboxError};

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
    let fault = |reason: String| SandboxError::Interpreter {
        python: interpreter.executable.clone(),
        reason,
    };
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
    links
        .filter(|link| link.canonicalize().is_ok_and(|file| files.contains(&file)))
        .collect()
}
