//! Output of a child's weights while they are computed.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{EngineError, Result};
use crate::peft::{CONFIG, WEIGHTS, require_new};

/// A file or memory. Modules come in any order.
pub(super) enum Sink {
    File { file: File, path: PathBuf },
    Memory(Mutex<Vec<u8>>),
}

impl Sink {
    pub(super) fn memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// Reserves `length` bytes, so that the buffer is not reallocated as modules arrive.
    pub(super) fn reserve(&self, length: u64) {
        if let Self::Memory(memory) = self {
            memory.lock().unwrap_or_else(PoisonError::into_inner).resize(length as usize, 0);
        }
    }

    /// Writes `bytes` at offset `place`.
    pub(super) fn write(&self, place: u64, bytes: &[u8]) -> Result<()> {
        match self {
            Self::File { file, path } => {
                file.write_all_at(bytes, place).map_err(|source| EngineError::io(path, source))
            }
            Self::Memory(memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                let (start, end) = (place as usize, place as usize + bytes.len());
                if memory.len() < end {
                    memory.resize(end, 0);
                }
                memory[start..end].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Writes fp32 values at offset `place`.
    pub(super) fn write_values(&self, place: u64, values: &[f32]) -> Result<()> {
        let mut bytes = vec![0; size_of_val(values)];
        for (bytes, value) in bytes.chunks_exact_mut(size_of::<f32>()).zip(values) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        self.write(place, &bytes)
    }

    /// The bytes written to memory.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::File { .. } => Vec::new(),
            Self::Memory(memory) => memory.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// Makes an adapter folder whose weights `make` writes. The folder must not exist or be empty; if `make` fails, it is
/// left empty.
pub(super) fn in_new_folder<T>(folder: &Path, config: &[u8], make: impl FnOnce(&Sink) -> Result<T>) -> Result<T> {
    require_new(folder)?;
    std::fs::create_dir_all(folder).map_err(|source| EngineError::io(folder, source))?;
    // Written under a temporary name, so that a weights file is always complete.
    let path = folder.join(format!("{WEIGHTS}.partial"));
    let file = File::create(&path).map_err(|source| EngineError::io(&path, source))?;
    let sink = Sink::File { file, path };
    let made = make(&sink).and_then(|made| finish(folder, &sink, config).map(|()| made));
    if made.is_err()
        && let Sink::File { path, .. } = &sink
    {
        // The original error is being reported; a leftover partial file does no harm.
        let _ = std::fs::remove_file(path);
    }
    made
}

fn finish(folder: &Path, sink: &Sink, config: &[u8]) -> Result<()> {
    let path = folder.join(CONFIG);
    std::fs::write(&path, config).map_err(|source| EngineError::io(&path, source))?;
    if let Sink::File { path: partial, .. } = sink {
        let path = folder.join(WEIGHTS);
        std::fs::rename(partial, &path).map_err(|source| EngineError::io(&path, source))?;
    }
    Ok(())
}
