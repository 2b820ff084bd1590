//! A file of rows, on this machine or on the Hugging Face hub.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek as _};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use lyceum_core::benchmark::reader;
use sha2::{Digest as _, Sha256};

use super::hub;

/// A file of rows.
pub(in crate::command) struct RowFile {
    /// Its name as given by the user.
    pub(in crate::command) place: String,
    /// Its source: its name, or its address on the hub.
    pub(in crate::command) source: String,
    /// SHA-256 in hex.
    pub(in crate::command) checksum: String,
    /// The hub's commit.
    commit: Option<String>,
    file: File,
}

impl RowFile {
    /// Opens a path, or downloads `hf://datasets/OWNER/NAME[@REVISION]/FILE`.
    pub(in crate::command) fn open(place: &str) -> anyhow::Result<Self> {
        let (mut file, source, commit) = match place.strip_prefix("hf://datasets/") {
            Some(path) => {
                let found = hub::download(path)?;
                (found.file, place.to_owned(), Some(found.revision))
            }
            None => {
                let name = Path::new(place).file_name();
                let name = name.map(|name| name.to_string_lossy().into_owned());
                let file = File::open(place).with_context(|| format!("cannot read {place}"))?;
                (file, name.unwrap_or_default(), None)
            }
        };
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut hash).with_context(|| format!("cannot read {place}"))?;
        file.rewind()?;
        Ok(Self {
            place: place.to_owned(),
            source,
            checksum: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            commit,
            file,
        })
    }

    /// A name for the dataset: `stem` and the start of the checksum.
    pub(in crate::command) fn name(&self, stem: &str) -> String {
        format!("{stem}-{:.12}", self.checksum)
    }

    /// The hub's commit, else the checksum.
    pub(in crate::command) fn revision(&self) -> String {
        self.commit
            .clone()
            .unwrap_or_else(|| format!("sha256:{}", self.checksum))
    }

    /// Its text, decompressed if it is gzip, with a progress bar that is hidden without a terminal.
    pub(in crate::command) fn text(&self) -> anyhow::Result<(Box<dyn BufRead + '_>, ProgressBar)> {
        let bar = ProgressBar::new(self.file.metadata()?.len());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta} left") {
            bar.set_style(style);
        }
        let text = reader::unpacking(BufReader::new(bar.wrap_read(&self.file)));
        Ok((text.with_context(|| format!("{} is damaged", self.place))?, bar))
    }

    /// A copy of its text in a temporary file.
    pub(super) fn unpacked(&self) -> anyhow::Result<File> {
        let mut copy = tempfile::tempfile().context("cannot create a file for the rows")?;
        let (mut text, bar) = self.text()?;
        io::copy(&mut text, &mut copy).with_context(|| format!("{} is damaged", self.place))?;
        bar.finish_and_clear();
        copy.rewind()?;
        Ok(copy)
    }
}
