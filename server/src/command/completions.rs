//! `lyceum completions`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

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
