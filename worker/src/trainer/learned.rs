//! What a trainer gives back.

use std::io;
use std::path::{Path, PathBuf};

use lyceum_core::work::UpdateResult;

use crate::adapter::OPTIMIZER;
use crate::scratch::{ScratchFile, ScratchFolder};

/// The result of an update before its artifacts are stored. Until then the members' versions are those that they started
/// from.
pub enum Learned {
    /// New versions, in the order of the members.
    Members(Vec<Written>, UpdateResult),
    /// A piece of a gradient.
    Gradient(ScratchFile, UpdateResult),
}

/// A member's new files, in a folder that is deleted on drop.
pub struct Written {
    folder: ScratchFolder,
}

impl Written {
    /// A folder without the files.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            folder: ScratchFolder::new()?,
        })
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The archive of its adapter.
    #[must_use]
    pub fn weights(&self) -> PathBuf {
        self.folder().join("adapter.tar")
    }

    /// The file of its optimizer state.
    #[must_use]
    pub fn optimizer(&self) -> PathBuf {
        self.folder().join(OPTIMIZER)
    }
}
