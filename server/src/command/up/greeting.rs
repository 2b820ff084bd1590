//! What `lyceum up` says once everything runs.

use std::path::PathBuf;

use crate::settings::Secret;
use crate::supervise::data_folder::admin_token_file;

/// How to get in, and where things are.
pub(super) struct Greeting {
    /// Where people find the server.
    pub(super) address: String,
    /// The data folder.
    pub(super) data: PathBuf,
    /// The admin token of the data folder.
    pub(super) token: Secret,
    /// Whether the token was made by this start.
    pub(super) is_new: bool,
}

impl Greeting {
    /// For a terminal in which it stays in sight.
    pub(super) fn print_banner(&self) {
        println!();
        println!("  Lyceum is ready at {}", self.address);
        println!();
        println!("  Log in with    {}", self.login_link());
        println!("  Data is in     {}", self.data.display());
        println!("  Stop with      Ctrl-C; what is under way goes on at the next start");
        println!("  Below follow   one line a step, and warnings; --log info shows everything");
        println!();
    }

    /// For a log, which is no place for the link unless it is new or a person is reading.
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
