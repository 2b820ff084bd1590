//! Tables for terminals and pipes.

use super::output::line;
use crate::frame::text::inert;

/// Rows under their headings, each column as wide as its widest cell.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings, shown in capitals.
    pub(super) fn new(headings: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let headings = headings
            .into_iter()
            .map(|name| name.as_ref().to_uppercase().replace('_', " "));
        Self {
            rows: vec![headings.collect()],
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // What others wrote takes as much room as it will when it is shown.
        self.rows
            .push(cells.into_iter().map(|cell| inert(&cell).replace('\n', "␊")).collect());
    }

    /// Prints it.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn print(&self) -> anyhow::Result<()> {
        let columns = self.rows[0].len();
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}
