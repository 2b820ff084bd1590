//! `lyceum run export`: a run as files for other tools.

use std::io::Seek as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use uuid::Uuid;

use crate::{
    client::Client,
    command::output::{line, remark},
    contract::receive,
};

/// What the files are for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ExportFormat {
    /// All tables, as a folder for Hugging Face's `datasets`
    Parquet,
    /// The same as JSON lines
    Jsonl,
    /// Metrics and scores as event files: `tensorboard --logdir FOLDER`
    Tensorboard,
    /// Metrics and scores as an offline run: `wandb sync FOLDER/wandb/offline-run-*`
    Wandb,
}

impl ExportFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Jsonl => "jsonl",
            Self::Tensorboard => "tensorboard",
            Self::Wandb => "wandb",
        }
    }

    /// How to open the folder.
    fn hint(self, folder: &Path) -> String {
        let folder = folder.display();
        match self {
            Self::Parquet | Self::Jsonl => format!("datasets.load_dataset(\"{folder}\", \"problems\") loads a table"),
            Self::Tensorboard => format!("tensorboard --logdir {folder} shows it"),
            Self::Wandb => {
                format!("wandb sync {folder}/wandb/offline-run-* uploads it; wandb leet {folder}/wandb shows it here")
            }
        }
    }
}

/// Writes a new folder below `out` and prints its path.
pub(super) fn export(client: &Client, id: Uuid, format: ExportFormat, out: &Path) -> anyhow::Result<()> {
    let mut file = receive::spool().context("there is no place for a temporary file; set TMPDIR")?;
    client.download(&format!("/runs/{id}/export.{}.zip", format.name()), &mut file)?;
    file.rewind()?;
    let mut archive = zip::ZipArchive::new(file).context("the server sent a damaged archive")?;
    let first = archive
        .by_index(0)?
        .enclosed_name()
        .context("the archive has an unsafe path")?;
    let folder = out.join(first.components().next().context("the archive has no folder")?);
    if folder.exists() {
        bail!(
            "{} exists; delete it, or choose another folder with --out",
            folder.display()
        );
    }
    archive
        .extract(out)
        .with_context(|| format!("cannot write {}", folder.display()))?;
    line(folder.display())?;
    remark(format.hint(&folder));
    Ok(())
}
