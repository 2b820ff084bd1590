//! What the program says of itself: `lyceum completions`, `lyceum man` and `lyceum openapi`.

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::command::output::{json, line};

/// Print a script that completes commands and options in a shell
///
///   bash:  lyceum completions bash > ~/.local/share/bash-completion/completions/lyceum
///   zsh:   lyceum completions zsh > ~/.zfunc/_lyceum     (a folder in fpath)
///   fish:  lyceum completions fish > ~/.config/fish/completions/lyceum.fish
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "lyceum", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

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

/// Print the description of the REST API (OpenAPI 3.1)
///
/// The same document as at /api/v1/openapi.json, which /docs shows as a page.
#[derive(Args, Debug)]
pub(crate) struct Openapi {}

impl Openapi {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        json(&crate::openapi::document())?;
        Ok(ExitCode::SUCCESS)
    }
}
