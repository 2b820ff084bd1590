//! `lyceum-workshop`: trains small bases and measures the product.

mod cli;
mod command;

use clap::Parser as _;

fn main() -> std::process::ExitCode {
    lyceum_worker::environment::prepare();
    lyceum_worker::heap::keep_freed();
    match cli::Cli::parse().run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
