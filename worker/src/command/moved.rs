//! Commands that are now in `lyceum-workshop`.

use anyhow::bail;
use clap::Args;

/// What was given to a command that has moved; it is not looked at.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Moved {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}

impl Moved {
    /// Names the command's new place.
    pub(crate) fn run(&self, command: &str) -> anyhow::Result<()> {
        let arguments: String = self.arguments.iter().map(|argument| format!(" {argument}")).collect();
        bail!("`{command}` has moved; run: cargo run --release -p lyceum-workshop -- {command}{arguments}")
    }
}
