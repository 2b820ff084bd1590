//! `lyceum-worker`: takes work from a server's queue and runs it; can also run every kind of work from files.

mod cli;
mod command;

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "engine")]
    {
        lyceum_worker::environment::prepare();
        lyceum_worker::heap::keep_freed();
    }
    match cli::Cli::parse().run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
