//! `lyceum dataset import`.

use clap::Args;

use super::row_file::RowFile;
use super::upload::Upload;
use crate::client::Client;

/// Import a file of rows, all of them or none, and print the dataset's id
///
/// A row is a JSON object on a line of its own. A row of training, goalposts or a benchmark has `task_id`, `question` and an
/// `oracle` that judges answers, or is a problem of self-play: `type` (code_o, code_i, code_f) with `program`, `input` and `output`,
/// or with `program`, `message` and `pairs`. A seed has `snippet` with `input`, or with `inputs` and `message`.
/// Rows that are wrong are named by line. Afterwards it is told which other datasets ask the same.
#[derive(Args, Debug)]
pub(super) struct Import {
    /// The file (plain or .gz), or `hf://datasets/OWNER/NAME[@REVISION]/FILE` on the Hugging Face hub
    file: String,
    /// What its rows are for
    #[arg(long, value_parser = super::purposes())]
    purpose: String,
    /// The suite that its rows belong to; needed to measure with them
    #[arg(long)]
    suite: Option<String>,
    /// What to call the dataset [default: the purpose and the start of the file's checksum]
    #[arg(long)]
    name: Option<String>,
    /// Which release of the file it is [default: the hub's commit, or else the file's checksum]
    #[arg(long)]
    revision: Option<String>,
}

impl Import {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<()> {
        let file = RowFile::open(&self.file)?;
        let upload = Upload {
            name: self.name.unwrap_or_else(|| file.name(&self.purpose)),
            purpose: &self.purpose,
            suite: self.suite.as_deref(),
            source: file.source.clone(),
            revision: self.revision.unwrap_or_else(|| file.revision()),
        };
        upload.send(&file.unpacked()?, client)
    }
}
