//! Output to terminals and pipes.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write as _};

/// Prints a line; unlike `println!`, does not panic if the reader has gone, as with `| head`.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Whether a command ended because its output is no longer read, which is not a failure.
pub(crate) fn reader_has_gone(error: &anyhow::Error) -> bool {
    let gone = |cause: &io::Error| cause.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<io::Error>().is_some_and(gone)
}
