//! Git LFS pointers, which a clone without Git LFS has in place of large files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::{ModelError, Result};

const START: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Whether the bytes are those of a pointer.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

/// Refuses a file that is a pointer.
///
/// # Errors
/// It is one, or it cannot be read.
pub fn refuse_pointer(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START.len() as u64).read_to_end(&mut start));
    read.map_err(|source| ModelError::io(path, source))?;
    match is_pointer(&start) {
        true => Err(refusal(path)),
        false => Ok(()),
    }
}

pub(crate) fn refusal(path: &Path) -> ModelError {
    ModelError::file(
        path,
        "is a Git LFS pointer and not the file itself: fetch it with `git lfs pull`, or download the folder from the hub",
    )
}
