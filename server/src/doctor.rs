//! Checks of the machine, one file per subject.

mod database;
mod machine;
mod worker;

use crate::settings::{Database, Server, Worker};

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its outcome.
    pub verdict: Verdict,
    /// The finding, on one line.
    pub what: String,
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is fine.
    Good,
    /// Something optional is missing or not ideal.
    Lacking {
        /// The fix.
        cure: String,
    },
    /// Lyceum cannot work.
    Bad {
        /// The fix.
        cure: String,
    },
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self { verdict: Verdict::Good, what: what.into() }
    }

    fn lacking(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { verdict: Verdict::Lacking { cure: cure.into() }, what: what.into() }
    }

    fn bad(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { verdict: Verdict::Bad { cure: cure.into() }, what: what.into() }
    }

    /// The outcome for an error whose message has its fix after a semicolon, as all of this crate's do.
    fn error(error: &impl std::fmt::Display) -> Self {
        let message = error.to_string();
        match message.split_once("; ") {
            Some((what, cure)) => Self::bad(what, cure),
            None => Self::bad(message, "see docs/OPERATING.md"),
        }
    }
}

/// The settings to check.
#[derive(Debug)]
pub struct Subject {
    /// The data folder.
    pub data: std::path::PathBuf,
    /// The address to listen on.
    pub server: Server,
    /// The database to use.
    pub database: Database,
    /// The worker to run.
    pub worker: Worker,
}

/// All checks, most important first.
pub async fn examine(subject: &Subject) -> Vec<Finding> {
    let mut findings = vec![machine::folder(&subject.data), machine::disk(&subject.data), machine::memory()];
    findings.extend(database::examine(subject.database.url.as_ref()).await);
    findings.push(machine::port(&subject.server, &subject.data));
    findings.extend(worker::worker(&subject.worker));
    findings.push(worker::python());
    findings.extend(machine::kernel());
    findings.extend(worker::gpu());
    findings
}

/// A program's output, if it succeeds and says anything.
fn ask(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new(program).args(arguments).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
