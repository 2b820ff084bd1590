//! Curves of a run for other tools, as a zip archive.

use lyceum_store::runs::RunDetail;
use sqlx::PgPool;
use std::io::{self, Write as _};
use strum::VariantArray as _;
use tokio::runtime::Handle;

use super::file_name;
use crate::contract::file_body::FileWriter;
use crate::contract::receive;
use crate::tracker::{Curves, TensorBoard, WandbRun, wandb_path};

/// A tool for curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Tracker {
    Tensorboard,
    Wandb,
}

impl Tracker {
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|tracker| tracker.name() == name)
    }

    /// Writes the folder that the tool opens. Blocks.
    pub(super) fn zip(
        self,
        db: &PgPool,
        runtime: &Handle,
        folder: &str,
        run: &RunDetail,
        out: &mut FileWriter,
    ) -> io::Result<()> {
        let mut zip = zip::ZipWriter::new_stream(out);
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(true);
        let mut curves = runtime.block_on(Curves::of(db, run)).map_err(io::Error::other)?;
        let mut next = || runtime.block_on(curves.next()).map_err(io::Error::other);
        match self {
            Self::Tensorboard => {
                let started = run.run.created_at.timestamp_micros() as f64 / 1e6;
                let config = serde_json::to_string_pretty(&run.config)?;
                let mut board = TensorBoard::new(receive::spool()?, started, &config)?;
                while let Some(step) = next()? {
                    board.step(&step)?;
                }
                board.finish(&mut zip, |zip, of, name| {
                    Ok(zip.start_file(format!("{folder}/{}/{name}", file_name(of)), options)?)
                })?;
            }
            Self::Wandb => {
                zip.start_file(format!("{folder}/{}", wandb_path(run)), options)?;
                let mut log = WandbRun::begin(&mut zip, run)?;
                while let Some(step) = next()? {
                    log.step(&step)?;
                }
                log.finish(run)?;
            }
        }
        zip.finish()?.into_inner().flush()
    }
}
