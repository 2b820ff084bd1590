//! The product's own programs as processes, alongside the tests' scripted ones.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::house::House;
use crate::process::Process;

/// Where the programs are.
pub struct Programs {
    server: PathBuf,
    worker: PathBuf,
}

impl Programs {
    /// Those that were built into the folder of the program `beside`; `None` if that was not done.
    pub fn beside(beside: &str) -> Result<Option<Self>> {
        let folder = Path::new(beside).parent().context("a folder")?;
        let (server, worker) = (folder.join("lyceum"), folder.join("lyceum-worker"));
        let are_there = server.exists() && worker.exists();
        Ok(are_there.then_some(Self { server, worker }))
    }

    /// `lyceum`, which gets its arguments yet.
    pub fn lyceum(&self) -> Command {
        Command::new(&self.server)
    }

    /// `lyceum-worker`, which gets its arguments yet.
    pub fn worker(&self) -> Command {
        Command::new(&self.worker)
    }
}

impl House {
    /// Starts `lyceum server` on a free port.
    pub fn lyceum_server(&self, programs: &Programs) -> Result<Process> {
        Process::start(
            Command::new(&programs.server)
                .arg("--data")
                .arg(self.artifacts().with_file_name("data"))
                .args(["server", "--port", "0", "--database-url", self.url(), "--artifacts"])
                .arg(self.artifacts())
                .env("LYCEUM_LOG", "error"),
        )
    }

    /// Starts `lyceum-worker work` under a name, with further arguments.
    pub fn lyceum_worker(&self, programs: &Programs, name: &str, arguments: &[&str]) -> Result<Process> {
        self.lyceum_worker_in(programs, name, arguments, &[])
    }

    /// The same, with further variables in its environment.
    pub fn lyceum_worker_in(
        &self,
        programs: &Programs,
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Process> {
        Process::start(
            Command::new(&programs.worker)
                .args(["work", "--name", name, "--database", self.worker_url(), "--artifacts"])
                .arg(self.artifacts())
                .args(arguments)
                .envs(environment.iter().copied())
                // What a killed one leaves goes with the house.
                .env("TMPDIR", self.artifacts().parent().context("a folder")?)
                .env("LYCEUM_LOG", "error"),
        )
    }
}
