//! Output to terminals and pipes. What others wrote, such as names, never acts on a terminal.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::frame::text::{inert, inert_json};

/// Prints a line for people, with every character visible, an end of line too; unlike `println!`, does not panic if the
/// reader has gone, as with `| head`.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(
        io::stdout(),
        "{}",
        inert(&text.to_string()).replace('\n', "␊")
    )?)
}

/// Prints JSON over several lines.
///
/// # Errors
/// As [`line()`].
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(writeln!(io::stdout(), "{}", inert_json(&text))?)
}

/// Prints JSON on one line.
///
/// # Errors
/// As [`line()`].
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string(value)?;
    Ok(writeln!(io::stdout(), "{}", inert_json(&text))?)
}

/// Prints a document in a format of its own, such as CSV: to a file or pipe as it is, to a terminal with every character
/// visible.
///
/// # Errors
/// As [`line()`].
pub(crate) fn document(text: &str) -> anyhow::Result<()> {
    let text = text.trim_end();
    match io::stdout().is_terminal() {
        true => writeln!(io::stdout(), "{}", inert(text))?,
        false => writeln!(io::stdout(), "{text}")?,
    }
    Ok(())
}

/// Prints a remark to standard error, with every character visible.
pub(crate) fn remark(text: impl Display) {
    eprintln!("{}", inert(&text.to_string()));
}

/// Whether a command ended because its output is no longer read, which is not a failure.
pub(crate) fn reader_has_gone(error: &anyhow::Error) -> bool {
    let gone = |cause: &io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(gone)
}
