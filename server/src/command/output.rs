//! Lines for people and for pipes.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

/// Prints a line; unlike `println!` it does not panic when the reader has gone, as with `| head`.
///
/// # Errors
/// A standard output that cannot be written.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Whether a command ended because nobody reads on, which is no failure of it.
pub(crate) fn reader_has_gone(error: &anyhow::Error) -> bool {
    let gone = |cause: &io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(gone)
}
