//! The lines of a file.

use std::io::{BufRead, Read as _};

use super::{LineFault, ReadError, Refused};

/// Maximum bytes in a line: Postgres' limit for a text within JSON.
pub const LONGEST_LINE: u64 = 256 << 20;

/// A line without a byte order mark, which some editors write at the start of a file. Files that were joined have one in
/// their middle.
pub(super) fn unmarked(mut line: &[u8]) -> &[u8] {
    while let Some(rest) = line.strip_prefix(b"\xef\xbb\xbf") {
        line = rest;
    }
    line
}

/// The lines of a file that are not blank. Only one is in memory.
#[derive(Debug)]
pub struct Lines<R> {
    file: R,
    text: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `file`.
    pub fn new(file: R) -> Self {
        Self {
            file,
            text: Vec::new(),
            number: 0,
        }
    }

    /// The next line and its number from 1; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or the line is too long.
    pub fn next_line(&mut self) -> Result<Option<(usize, &[u8])>, ReadError> {
        loop {
            self.text.clear();
            self.number += 1;
            let mut limited = self.file.by_ref().take(LONGEST_LINE + 1);
            if limited.read_until(b'\n', &mut self.text)? == 0 {
                return Ok(None);
            }
            if self.text.len() as u64 > LONGEST_LINE {
                let detail = format!(
                    "the line is longer than {} MiB, the maximum for a row",
                    LONGEST_LINE >> 20
                );
                let line = self.number;
                let faults = vec![LineFault { line, detail }];
                return Err(Refused { faults }.into());
            }
            if !unmarked(&self.text).trim_ascii().is_empty() {
                break;
            }
        }
        let line = unmarked(&self.text);
        Ok(Some((self.number, line.strip_suffix(b"\n").unwrap_or(line))))
    }
}
