//! An adapter as one artifact: a tar of its two files.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::{CONFIG, MLX_WEIGHTS, OF_MLX, PICKLE, PICKLED, WEIGHTS};
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
    /// The most bytes that an adapter may have.
    pub const LARGEST: usize = 1 << 30;

    /// An uncompressed tar of the files in name order, without times and owners. The same files give the same bytes.
    pub fn to_archive(&self) -> Result<Vec<u8>> {
        // Two headers, two paddings and the end.
        let mut archive = Vec::with_capacity(self.config.len() + self.weights.len() + 4096);
        self.write_archive(&mut archive)?;
        Ok(archive)
    }

    /// Writes [`AdapterFiles::to_archive`].
    pub fn write_archive(&self, out: impl Write) -> Result<()> {
        let (config, weights) = (self.config.as_slice(), self.weights.as_slice());
        tar_of((config.len() as u64, config), (weights.len() as u64, weights), out)
    }

    /// Reads the files from such a tar; `name` stands for it in messages. Other files in it are ignored.
    pub fn from_archive(name: &str, bytes: &[u8]) -> Result<Self> {
        let (mut config, mut weights) = (Vec::new(), Vec::new());
        for_each_file(name, bytes, |file, size, entry| {
            let read = if file == CONFIG { &mut config } else { &mut weights };
            read.clear();
            read.reserve_exact(usize::try_from(size).unwrap_or_default().min(bytes.len()));
            entry.read_to_end(read).map(drop)
        })?;
        Ok(Self { config, weights })
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
        Ok(Self { config: read(CONFIG)?, weights: read(WEIGHTS)? })
    }
}

/// Writes the archive of the files in `folder`, as [`AdapterFiles::to_archive`] makes it, without reading them into memory.
///
/// # Errors
/// A file cannot be read, or the weights are a pickle; the archive cannot be written.
pub fn pack(folder: &Path, out: impl Write) -> Result<()> {
    if !folder.join(WEIGHTS).exists() && folder.join(PICKLE).exists() {
        return Err(ModelError::file(folder, PICKLED));
    }
    if !folder.join(WEIGHTS).exists() && folder.join(MLX_WEIGHTS).exists() {
        return Err(ModelError::file(folder, OF_MLX));
    }
    let open = |name: &str| {
        let path = folder.join(name);
        let file = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), BufReader::new(file))));
        file.map_err(|source| ModelError::io(&path, source))
    };
    tar_of(open(CONFIG)?, open(WEIGHTS)?, out)
}

/// Writes the files of an archive into `folder`, which exists; `name` stands for the archive in messages.
pub fn unpack(name: &str, archive: impl Read, folder: &Path) -> Result<()> {
    for_each_file(name, archive, |file, _, entry| {
        let mut out = File::create(folder.join(file))?;
        io::copy(entry, &mut out).map(drop)
    })
}

fn tar_of(config: (u64, impl Read), weights: (u64, impl Read), out: impl Write) -> Result<()> {
    let mut archive = tar::Builder::new(out);
    let mut append = |name: &str, size: u64, bytes: &mut dyn Read| {
        let mut header = tar::Header::new_ustar();
        header.set_size(size);
        header.set_mode(0o644);
        let appended = archive.append_data(&mut header, name, bytes.take(size));
        appended.map_err(|source| ModelError::io(name, source))
    };
    let (mut config, mut weights) = (config, weights);
    append(CONFIG, config.0, &mut config.1)?;
    append(WEIGHTS, weights.0, &mut weights.1)?;
    let finished = archive.into_inner().and_then(|mut out| out.flush());
    finished.map_err(|source| ModelError::io("adapter archive", source))
}

/// Calls `take` with the name, the size and the bytes of each of the two files.
fn for_each_file(
    name: &str,
    archive: impl Read,
    mut take: impl FnMut(&str, u64, &mut dyn Read) -> io::Result<()>,
) -> Result<()> {
    let unreadable = |source: io::Error| ModelError::io(name, source);
    let mut found = Vec::new();
    for entry in tar::Archive::new(archive).entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        let Some(wanted) = [CONFIG, WEIGHTS].into_iter().find(|wanted| path == Path::new(wanted)) else { continue };
        let size = entry.size();
        take(wanted, size, &mut entry).map_err(unreadable)?;
        found.push(wanted);
    }
    match [CONFIG, WEIGHTS].into_iter().find(|wanted| !found.contains(wanted)) {
        Some(missing) => Err(ModelError::file(name, format!("the archive contains no {missing}"))),
        None => Ok(()),
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
        let files = AdapterFiles { config: b"{}".to_vec(), weights: vec![7; 1000] };
        let archive = files.to_archive().unwrap();
        assert_eq!(archive, files.to_archive().unwrap());
        assert_eq!(AdapterFiles::from_archive("a", &archive).unwrap(), files);

        let folder = tempfile::tempdir().unwrap();
        unpack("a", archive.as_slice(), folder.path()).unwrap();
        assert_eq!(AdapterFiles::read(folder.path()).unwrap(), files);
        let mut packed = Vec::new();
        pack(folder.path(), &mut packed).unwrap();
        assert_eq!(packed, archive);
        let cut = AdapterFiles::from_archive("digest 12", &archive[..700]).unwrap_err().to_string();
        assert!(cut.contains("digest 12"), "{cut}");
        let empty = AdapterFiles::from_archive("digest 12", &[0; 1024]).unwrap_err().to_string();
        assert!(empty.contains("adapter_config.json"), "{empty}");
    }
}
