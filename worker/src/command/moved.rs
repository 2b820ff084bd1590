//! Commands that moved to `lyceum-workshop`.

use anyhow::bail;
use clap::Args;

/// The arguments of a moved command, which are ignored.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Moved {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

impl Moved {
    /// Fails with the command's new location.
    pub(crate) fn run(&self, command: &str) -> anyhow::Result<()> {
        let arguments: String = self.arguments.iter().map(|argument| format!(" {argument}")).collect();
        bail!("`{command}` has moved; run: cargo run --release -p lyceum-workshop -- {command}{arguments}")
    }
}
