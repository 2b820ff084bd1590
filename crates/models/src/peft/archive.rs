//! An adapter as one artifact: a tar of its two files.

use std::io::Read as _;
use std::path::Path;

use super::{CONFIG, WEIGHTS};
use crate::error::{ModelError, Result};

/// The files of a PEFT folder, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterFiles {
    /// `adapter_config.json`
    pub config: Vec<u8>,
    /// `adapter_model.safetensors`
    pub weights: Vec<u8>,
}

impl AdapterFiles {
    /// An uncompressed tar of the files in name order, without times and owners. The same files give the same bytes.
    pub fn to_archive(&self) -> Result<Vec<u8>> {
        // Two headers, two paddings and the end.
        let mut archive = tar::Builder::new(Vec::with_capacity(self.config.len() + self.weights.len() + 4096));
        for (name, bytes) in [(CONFIG, &self.config), (WEIGHTS, &self.weights)] {
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive
                .append_data(&mut header, name, bytes.as_slice())
                .map_err(|source| ModelError::io(name, source))?;
        }
        archive
            .into_inner()
            .map_err(|source| ModelError::io("adapter archive", source))
    }

    /// Reads the files from such a tar; `name` stands for it in messages. Other files in it are ignored.
    pub fn from_archive(name: &str, bytes: &[u8]) -> Result<Self> {
        let unreadable = |source: std::io::Error| ModelError::io(name, source);
        let (mut config, mut weights) = (None, None);
        let mut archive = tar::Archive::new(bytes);
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            let wanted = match entry.path().map_err(unreadable)?.to_str() {
                Some(CONFIG) => &mut config,
                Some(WEIGHTS) => &mut weights,
                _ => continue,
            };
            let mut read = Vec::with_capacity(usize::try_from(entry.size()).unwrap_or_default().min(bytes.len()));
            entry.read_to_end(&mut read).map_err(unreadable)?;
            *wanted = Some(read);
        }
        let missing = |file: &str| ModelError::file(name, format!("the archive contains no {file}"));
        Ok(Self {
            config: config.ok_or_else(|| missing(CONFIG))?,
            weights: weights.ok_or_else(|| missing(WEIGHTS))?,
        })
    }

    /// Writes the files into `folder`, creating it if necessary.
    pub fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|source| ModelError::io(folder, source))?;
        for (name, bytes) in [(WEIGHTS, &self.weights), (CONFIG, &self.config)] {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(|source| ModelError::io(&path, source))?;
        }
        Ok(())
    }

    /// Writes the files into `folder`, which must not exist or be empty.
    pub fn write_new(&self, folder: &Path) -> Result<()> {
        require_new(folder)?;
        self.write(folder)
    }

    /// Reads the files of `folder`.
    pub fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|source| ModelError::io(&path, source))
        };
        Ok(Self {
            config: read(CONFIG)?,
            weights: read(WEIGHTS)?,
        })
    }
}

/// Refuses a non-empty folder.
pub fn require_new(folder: &Path) -> Result<()> {
    if let Ok(mut entries) = std::fs::read_dir(folder)
        && entries.next().is_some()
    {
        return Err(ModelError::file(folder, "the output folder is not empty"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_survive_their_archive_and_archives_are_reproducible() {
        let files = AdapterFiles {
            config: b"{}".to_vec(),
            weights: vec![7; 1000],
        };
        let archive = files.to_archive().unwrap();
        assert_eq!(archive, files.to_archive().unwrap());
        assert_eq!(AdapterFiles::from_archive("a", &archive).unwrap(), files);
        let cut = AdapterFiles::from_archive("digest 12", &archive[..700])
            .unwrap_err()
            .to_string();
        assert!(cut.contains("digest 12"), "{cut}");
        let empty = AdapterFiles::from_archive("digest 12", &[0; 1024])
            .unwrap_err()
            .to_string();
        assert!(empty.contains("adapter_config.json"), "{empty}");
    }
}
