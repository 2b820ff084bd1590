//! Output to terminals and pipes, and tables. What others wrote, such as names, never acts on a terminal.

use serde::Serialize;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use crate::frame::text::{inert, inert_json};

/// Prints a line for people, with every character visible, an end of line too; unlike `println!`, does not panic if the
/// reader has gone, as with `| head`.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn line(text: impl Display) -> anyhow::Result<()> {
    Ok(writeln!(io::stdout(), "{}", inert(&text.to_string()).replace('\n', "␊"))?)
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

/// Rows under their headings, each column as wide as its widest cell.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, shown in capitals.
    pub(super) fn new(headings: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let headings = headings.into_iter().map(|name| name.as_ref().to_uppercase().replace('_', " "));
        Self { rows: vec![headings.collect()] }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // What others wrote takes as much room as it will when it is shown.
        self.rows.push(cells.into_iter().map(|cell| inert(&cell).replace('\n', "␊")).collect());
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let columns = self.rows[0].len();
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
