//! `lyceum dataset import`.

use clap::Args;

use super::row_file::RowFile;
use super::upload::Upload;
use crate::client::Client;

/// Import a file of rows, all or none, and print the dataset's id
///
/// Each row is a JSON object on its own line. A row of training, goalposts or a benchmark has `task_id`, `question` and
/// an `oracle` that judges answers, or is a self-play problem: `type` (code_o, code_i, code_f) with `program`, `input`
/// and `output`, or with `program`, `message` and `pairs`. A seed has `snippet` with `input`, or with `inputs` and
/// `message`. Faults are reported by line. Afterwards, other datasets with the same questions are reported.
#[derive(Args, Debug)]
pub(super) struct Import {
    /// The file (plain or .gz), or `hf://datasets/OWNER/NAME[@REVISION]/FILE` on the Hugging Face hub
    file: String,
    /// The purpose of its rows
    #[arg(long, value_parser = super::purposes())]
    purpose: String,
    /// The suite its rows belong to; required for benchmarks
    #[arg(long)]
    suite: Option<String>,
    /// The dataset's name [default: the purpose and the start of the file's checksum]
    #[arg(long)]
    name: Option<String>,
    /// The file's release [default: the hub's commit, else the file's checksum]
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
