//! What can be wrong on a machine, one file a subject.

mod database;
mod disk;
mod folder;
mod gpu;
mod kernel;
mod memory;
mod port;
mod python;
mod worker;

use crate::settings::{Database, Server, Worker};

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is.
    pub verdict: Verdict,
    /// What was found, on one line.
    pub what: String,
}

/// How something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Something is not there or not as it could be, and Lyceum works without it.
    Lacking {
        /// What to do about it.
        cure: String,
    },
    /// Lyceum does not work like this.
    Bad {
        /// What to do about it.
        cure: String,
    },
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Good,
            what: what.into(),
        }
    }

    fn lacking(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Lacking { cure: cure.into() },
            what: what.into(),
        }
    }

    fn bad(what: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Bad { cure: cure.into() },
            what: what.into(),
        }
    }

    /// An error whose message holds its cure after a semicolon, as all of this crate's do.
    fn error(error: &impl std::fmt::Display) -> Self {
        let message = error.to_string();
        match message.split_once("; ") {
            Some((what, cure)) => Self::bad(what, cure),
            None => Self::bad(message, "see docs/OPERATING.md"),
        }
    }
}

/// What the checks look at.
#[derive(Debug)]
pub struct Subject {
    /// The data folder.
    pub data: std::path::PathBuf,
    /// Where the server would listen.
    pub server: Server,
    /// Which database it would use.
    pub database: Database,
    /// Which worker would run.
    pub worker: Worker,
}

/// All checks, in the order in which they matter.
pub async fn examine(subject: &Subject) -> Vec<Finding> {
    let mut findings = vec![
        folder::examine(&subject.data),
        disk::examine(&subject.data),
        memory::examine(),
    ];
    findings.extend(database::examine(subject.database.url.as_ref()).await);
    findings.push(port::examine(&subject.server, &subject.data));
    findings.extend(worker::examine(&subject.worker));
    findings.push(python::examine());
    findings.extend(kernel::examine());
    findings.push(gpu::examine());
    findings
}

/// The first line of what a program says, if it can be run and succeeds.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new(program).args(arguments).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout)
        .lines()
        .next()
        .map(str::to_owned);
    said.filter(|_| output.status.success())
}
