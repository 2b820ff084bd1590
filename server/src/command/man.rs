//! `lyceum man`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Command};

use super::output::line;

/// Write man pages, one for each command
///
///   lyceum man --out ~/.local/share/man/man1 && man lyceum-run-list
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Man {
    /// The folder, which is made if there is none
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl Man {
    pub(crate) fn run(self, command: Command) -> anyhow::Result<ExitCode> {
        let out = &self.out;
        let cannot = || format!("cannot write man pages in {}", out.display());
        fs::create_dir_all(out).with_context(cannot)?;
        clap_mangen::generate_to(command, out).with_context(cannot)?;
        line(out.display())?;
        Ok(ExitCode::SUCCESS)
    }
}
