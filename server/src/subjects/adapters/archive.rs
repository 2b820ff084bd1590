//! Archives of adapters: only their two files are read, into memory; nothing is unpacked.

use flate2::read::MultiGzDecoder;
use lyceum_core::fault::Fault;
use lyceum_models::peft::{AdapterFiles, CONFIG, MLX_WEIGHTS, OF_MLX, PICKLE, PICKLED, WEIGHTS};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::{Component, Path};

use crate::api_error::ApiError;
use crate::contract::receive::unwritten;

/// Bytes of the longest configuration. Those of peft have some thousand.
const LONGEST_CONFIG: u64 = 64 << 10;

/// Parts of a path, the file's name among them.
const DEEPEST: usize = 3;

/// Files of the largest archive.
const MOST_FILES: usize = 10_000;

/// Bytes of all that a tar has in addition to the weights, such as a tokenizer.
const BESIDE: u64 = 64 << 20;

/// The files of an adapter in a tar, tar.gz or zip, with at most `limit` bytes when unpacked.
pub(super) fn read(mut archive: File, limit: usize) -> Result<AdapterFiles, ApiError> {
    let limit = limit as u64;
    let mut magic = Vec::new();
    (&archive).take(4).read_to_end(&mut magic).map_err(unwritten)?;
    archive.rewind().map_err(unwritten)?;
    let archive = BufReader::new(archive);
    let mut found = Found::default();
    let read = match magic.as_slice() {
        [0x1f, 0x8b, ..] => of_tar(MultiGzDecoder::new(archive), limit, &mut found),
        [b'P', b'K', 3 | 5, 4 | 6] => of_zip(archive, limit, &mut found),
        _ => of_tar(archive, limit, &mut found),
    };
    let invalid = |pointer: &str, detail: String| ApiError::invalid(vec![Fault::new(pointer, detail)]);
    read.map_err(|detail| invalid("", detail))?;
    match (found.config.map(|(_, bytes)| bytes), found.weights.map(|(_, bytes)| bytes)) {
        (Some(config), Some(weights)) => Ok(AdapterFiles { config, weights }),
        (_, None) if found.is_of_mlx => Err(invalid("", format!("what the archive has {OF_MLX}"))),
        (_, None) if found.has_pickle => Err(invalid("", format!("the archive {PICKLED}"))),
        (None, _) => Err(invalid("", format!("the archive has no {CONFIG}"))),
        (_, None) => Err(invalid("", format!("the archive has no {WEIGHTS}"))),
    }
}

/// What an archive has of an adapter.
#[derive(Default)]
struct Found {
    /// Each file with the number of folders above it.
    config: Option<(usize, Vec<u8>)>,
    weights: Option<(usize, Vec<u8>)>,
    has_pickle: bool,
    is_of_mlx: bool,
}

impl Found {
    /// Reads a file of the archive if it is one of the two.
    fn take(&mut self, path: &Path, bytes: impl Read, limit: u64) -> Result<(), String> {
        let shown = path.display();
        let mut depth = 0;
        for part in path.components() {
            match part {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                _ => {
                    return Err(format!("the archive has a file `{shown}`: only names below it are valid"));
                }
            }
        }
        let name = path.file_name().and_then(|name| name.to_str()).filter(|_| depth <= DEEPEST);
        let (place, limit) = match name {
            Some(CONFIG) => (&mut self.config, LONGEST_CONFIG),
            Some(WEIGHTS) => (&mut self.weights, limit),
            Some(PICKLE) => {
                self.has_pickle = true;
                return Ok(());
            }
            Some(MLX_WEIGHTS) => {
                self.is_of_mlx = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        // Below an adapter there may be its checkpoints.
        match place.as_ref().map(|(above, _)| depth.cmp(above)) {
            Some(Ordering::Equal) => {
                return Err(format!("`{shown}` is the second of its name: an archive has one adapter"));
            }
            Some(Ordering::Greater) => return Ok(()),
            Some(Ordering::Less) | None => {}
        }
        let mut read = Vec::new();
        let unreadable = |error: io::Error| format!("`{shown}` cannot be read: {error}");
        bytes.take(limit + 1).read_to_end(&mut read).map_err(unreadable)?;
        if read.len() as u64 > limit {
            return Err(format!("`{shown}` has more than {limit} bytes, the maximum"));
        }
        *place = Some((depth, read));
        Ok(())
    }
}

fn of_tar(archive: impl Read, limit: u64, found: &mut Found) -> Result<(), String> {
    let damaged = |error: io::Error| {
        format!("the body is no complete tar, tar.gz or zip of at most {limit} bytes unpacked: {error}")
    };
    // What is packed may be far larger than its archive.
    let archive = archive.take(limit.saturating_add(BESIDE));
    for (number, entry) in tar::Archive::new(archive).entries().map_err(damaged)?.enumerate() {
        require_few(number)?;
        let entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        if entry.header().entry_type().is_file() {
            found.take(&path, entry, limit)?;
        }
    }
    Ok(())
}

/// Refuses file `number`, counted from 0, if there are too many.
fn require_few(number: usize) -> Result<(), String> {
    match number < MOST_FILES {
        true => Ok(()),
        false => Err(format!("the archive has more than {MOST_FILES} files: an adapter is two")),
    }
}

/// How many files the end of a zip declares; the reader would make room for all of them.
fn declared(archive: &mut (impl Read + io::Seek)) -> io::Result<usize> {
    const END: &[u8] = b"PK\x05\x06";
    let length = archive.seek(io::SeekFrom::End(0))?;
    archive.seek(io::SeekFrom::Start(length.saturating_sub(22 + (64 << 10))))?;
    let mut tail = Vec::new();
    archive.read_to_end(&mut tail)?;
    archive.rewind()?;
    let end = tail.windows(22).rev().find(|bytes| bytes.starts_with(END));
    // With 65,535 the number is in a record of its own, and is at least that.
    Ok(end.map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[10], bytes[11]]))))
}

fn of_zip(mut archive: impl Read + io::Seek, limit: u64, found: &mut Found) -> Result<(), String> {
    let damaged = |error: zip::result::ZipError| format!("the zip cannot be read: {error}");
    let files = declared(&mut archive).map_err(|error| damaged(error.into()))?;
    require_few(files.saturating_sub(1))?;
    let mut zip = zip::ZipArchive::new(archive).map_err(damaged)?;
    for index in 0..zip.len() {
        let file = zip.by_index(index).map_err(damaged)?;
        if file.is_file() {
            let path = file.name().map_err(damaged)?.into_owned();
            found.take(Path::new(&path), file, limit)?;
        }
    }
    Ok(())
}
