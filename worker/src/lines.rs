//! Files with one JSON object per line.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads every line that is not blank.
///
/// # Errors
/// The file cannot be read, or a line does not parse; the error names file and line.
pub fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut values = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.with_context(|| path.display().to_string())?;
        if !line.trim().is_empty() {
            values.push(serde_json::from_str(&line).with_context(|| format!("{}, line {number}", path.display()))?);
        }
    }
    Ok(values)
}

/// Writes one line per value.
///
/// # Errors
/// The file cannot be written.
pub fn write_lines<T: Serialize>(path: &Path, values: &[T]) -> anyhow::Result<()> {
    let mut file = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    for value in values {
        serde_json::to_writer(&mut file, value)?;
        file.write_all(b"\n")?;
    }
    file.flush().with_context(|| path.display().to_string())
}
