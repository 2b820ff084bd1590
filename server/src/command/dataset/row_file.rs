//! A file of rows, on this machine or on the Hugging Face hub.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, Write};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use lyceum_rows::{Joined, Text, json_lines};
use sha2::{Digest as _, Sha256};

use crate::hub::Hub;

/// A file of rows, or the shards of one.
pub(in crate::command) struct RowFile {
    /// Its name as given by the user.
    pub(in crate::command) place: String,
    /// Its source: its name, or its address on the hub.
    pub(in crate::command) source: String,
    /// SHA-256 in hex.
    pub(in crate::command) checksum: String,
    /// The hub's commit.
    commit: Option<String>,
    shards: Vec<File>,
}

impl RowFile {
    /// Opens a path, or downloads `hf://datasets/OWNER/NAME[@REVISION][/PATH]`: a file, or those of `split`.
    pub(in crate::command) fn open(place: &str, split: Option<&str>) -> anyhow::Result<Self> {
        if place.starts_with("hf://datasets/") {
            return Self::download(place, split);
        }
        if split.is_some() {
            anyhow::bail!(
                "--split is for a repository on the hub, such as hf://datasets/OWNER/NAME; {place} is a file"
            );
        }
        let name = Path::new(place).file_name();
        let source = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let cannot = || format!("cannot read {place}");
        let mut file = File::open(place).with_context(cannot)?;
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut hash).with_context(cannot)?;
        Self::of(place, source, None, hash, vec![file])
    }

    fn download(place: &str, split: Option<&str>) -> anyhow::Result<Self> {
        let address = place.parse()?;
        let located = Hub::from_env().locate(address, split)?;
        let commit = located.revision.clone();
        let mut hash = Sha256::new();
        let mut shards = Vec::new();
        for file in located.into_files() {
            let file = file?;
            let bar = bar(file.length);
            let mut shard = tempfile::tempfile().context("cannot create a file for the download")?;
            let mut both = Hashed { file: &mut shard, hash: &mut hash };
            io::copy(&mut bar.wrap_read(file), &mut both).with_context(|| format!("cannot read {place}"))?;
            bar.finish_and_clear();
            shards.push(shard);
        }
        Self::of(place, place.to_owned(), Some(commit), hash, shards)
    }

    fn of(
        place: &str,
        source: String,
        commit: Option<String>,
        hash: Sha256,
        mut shards: Vec<File>,
    ) -> anyhow::Result<Self> {
        for shard in &mut shards {
            shard.rewind()?;
        }
        Ok(Self {
            place: place.to_owned(),
            source,
            checksum: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
            commit,
            shards,
        })
    }

    /// A name for the dataset: `stem` and the start of the checksum.
    pub(in crate::command) fn name(&self, stem: &str) -> String {
        format!("{stem}-{:.12}", self.checksum)
    }

    /// The hub's commit, else the checksum.
    pub(in crate::command) fn revision(&self) -> String {
        self.commit.clone().unwrap_or_else(|| format!("sha256:{}", self.checksum))
    }

    /// Its rows as JSON objects on lines, with a progress bar that is hidden without a terminal.
    pub(in crate::command) fn text(&self) -> anyhow::Result<(Text<'_>, ProgressBar)> {
        let mut length = 0;
        for shard in &self.shards {
            length += shard.metadata()?.len();
        }
        let bar = bar(Some(length));
        let text: Text<'_> = match self.shards.as_slice() {
            [only] => json_lines(bar.wrap_read(only)).with_context(|| format!("cannot read {}", self.place))?,
            several => {
                let bar = bar.clone();
                let files = several.iter().map(move |shard| json_lines(bar.wrap_read(shard)));
                Box::new(BufReader::new(Joined::new(files)))
            }
        };
        Ok((text, bar))
    }

    /// Its rows in a temporary file.
    pub(super) fn unpacked(&self) -> anyhow::Result<File> {
        let mut copy = tempfile::tempfile().context("cannot create a file for the rows")?;
        let (mut text, bar) = self.text()?;
        io::copy(&mut text, &mut copy).with_context(|| format!("{} is damaged", self.place))?;
        bar.finish_and_clear();
        copy.rewind()?;
        Ok(copy)
    }
}

/// A bar over the bytes of a file, or a spinner if their number is unknown.
pub(in crate::command) fn bar(length: Option<u64>) -> ProgressBar {
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta} left") {
        bar.set_style(style);
    }
    bar
}

/// A file that is hashed as it is written.
struct Hashed<'a> {
    file: &'a mut File,
    hash: &'a mut Sha256,
}

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
