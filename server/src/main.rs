//! `lyceum`: REST API, web UI, coordinator and command line.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match lyceum_server::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
