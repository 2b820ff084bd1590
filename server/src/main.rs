//! `lyceum`: REST API, web UI, coordinator and command line.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match lyceum_server::cli::Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            // An error may quote what somebody else named.
            eprintln!("error: {}", lyceum_server::inert(&one_line(&error)));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, omitting those already at the end of a message.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        if !line.contains(&cause) {
            line += if line.is_empty() { "" } else { ": " };
            line += &cause;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    #[test]
    fn causes_are_said_once_and_on_one_line() {
        let inner = std::io::Error::other("no such\nthing");
        let error = Err::<(), _>(inner).context("cannot read x: no such thing").context("cannot start").unwrap_err();
        assert_eq!(super::one_line(&error), "cannot start: cannot read x: no such thing");
    }
}
