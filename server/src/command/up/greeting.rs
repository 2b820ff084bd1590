//! The banner of `lyceum up`.

use std::path::PathBuf;

use crate::settings::Secret;
use crate::supervise::data_folder::admin_token_file;

/// The login link and the data folder.
pub(super) struct Greeting {
    /// The server's public address.
    pub(super) address: String,
    /// The data folder.
    pub(super) data: PathBuf,
    /// The admin token of the data folder.
    pub(super) token: Secret,
    /// Whether the token was created by this start.
    pub(super) is_new: bool,
}

impl Greeting {
    /// The banner for a terminal.
    pub(super) fn print_banner(&self) {
        println!();
        println!("  Lyceum is ready at {}", self.address);
        println!();
        println!("  Log in   {}", self.login_link());
        println!("  Data     {}", self.data.display());
        println!("  Stop     Ctrl-C; runs resume at the next start");
        println!("  Log      one line per step, and warnings; everything with --log info");
        println!();
    }

    /// The lines for a log, with the link only if the token is new or a person is reading.
    pub(super) fn print_lines(&self, is_read: bool) {
        if self.is_new || is_read {
            println!("Log in with {}", self.login_link());
        }
        println!("The admin token is in {}", admin_token_file(&self.data).display());
        println!("Lyceum is ready at {}", self.address);
    }

    fn login_link(&self) -> String {
        format!("{}/login#{}", self.address, self.token.expose())
    }
}
