//! Adapter versions from the artifact store.

use std::io;
use std::path::Path;

use lyceum_core::work::AdapterRef;
use lyceum_models::peft::AdapterFiles;
use tempfile::TempDir;

use crate::handler::{Context, HandlerError};

/// The file of AdamW's moments, a separate artifact from the adapter's.
pub(crate) const OPTIMIZER: &str = "optimizer.safetensors";

/// An adapter version that has been read.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version.
    pub adapter: AdapterRef,
    files: AdapterFiles,
    optimizer: Option<Vec<u8>>,
}

impl Version {
    /// Reads the weights of `adapter`, and its optimizer state if `with_optimizer`.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn read(context: &Context, adapter: AdapterRef, with_optimizer: bool) -> Result<Self, HandlerError> {
        let name = format!("adapter version {}", adapter.version);
        let files = AdapterFiles::from_archive(&name, &context.get(adapter.artifact).await?)?;
        let optimizer = match adapter.optimizer.filter(|_| with_optimizer) {
            Some(digest) => Some(context.get(digest).await?),
            None => None,
        };
        Ok(Self {
            adapter,
            files,
            optimizer,
        })
    }

    /// Its PEFT files.
    #[must_use]
    pub fn files(&self) -> &AdapterFiles {
        &self.files
    }

    /// The file of its optimizer state, if that was read.
    #[must_use]
    pub fn optimizer(&self) -> Option<&[u8]> {
        self.optimizer.as_deref()
    }

    /// The files as a folder, which is deleted on drop.
    ///
    /// # Errors
    /// A full disk.
    pub fn lay_out(&self) -> Result<TempDir, HandlerError> {
        let folder = tempfile::tempdir().map_err(disk)?;
        self.write(folder.path())?;
        Ok(folder)
    }

    /// Writes the files into a folder, which is created.
    ///
    /// # Errors
    /// A full disk.
    pub fn write(&self, folder: &Path) -> Result<(), HandlerError> {
        self.files.write(folder)?;
        if let Some(bytes) = &self.optimizer {
            std::fs::write(folder.join(OPTIMIZER), bytes).map_err(disk)?;
        }
        Ok(())
    }
}

/// A temporary folder could not be used. Transient: the disk may have space later.
pub(crate) fn disk(error: io::Error) -> HandlerError {
    HandlerError::Transient(format!(
        "files cannot be kept in {}: {error}",
        std::env::temp_dir().display()
    ))
}
