//! Whether the disks have room for what is stored.

use nix::sys::statvfs::statvfs;
use std::path::PathBuf;

use super::Lab;

/// Bytes that must be free in each folder.
const LEAST_FREE: u64 = 64 << 20;

/// The folders that the server, its database and its artifacts write into, as far as they are on this machine.
#[derive(Clone, Debug)]
pub struct Space {
    pub folders: Vec<PathBuf>,
    /// Bytes that must be free in each.
    pub least: u64,
}

impl Default for Space {
    fn default() -> Self {
        Self { folders: Vec::new(), least: LEAST_FREE }
    }
}

impl Space {
    fn missing(&self) -> Option<String> {
        let free = |folder: &PathBuf| {
            let stat = statvfs(folder).ok()?;
            Some(stat.blocks_available() * stat.fragment_size())
        };
        let (folder, free) = self
            .folders
            .iter()
            .filter_map(|folder| Some((folder, free(folder)?)))
            .find(|(_, free)| *free < self.least)?;
        Some(format!("the disk of {} has {} MiB left: free some space", folder.display(), free >> 20))
    }
}

impl Lab {
    /// Which disk is full, and what to do.
    pub(crate) async fn full_disk(&self) -> Option<String> {
        let space = self.settings.space.clone();
        // A disk of the network may not answer.
        tokio::task::spawn_blocking(move || space.missing()).await.ok()?
    }
}
