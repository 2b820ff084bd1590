//! Groups of processes that share a base, as trainers: one group for each update, started with torchrun.
//!
//! A group is handed a folder and gives a folder back, in the formats of `lyceum-worker update`; [`accept`] believes nothing
//! in it before it was compared with what was asked for. The script that the processes run is part of this binary.

mod accept;
mod group;
mod hand_over;
mod tensors;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lyceum_core::work::{MemberUpdated, Trainer, UpdateResult};
use serde::Deserialize;

use super::{Learned, Lesson};
use crate::ModelsFolder;
use crate::adapter::{blocking, disk};
use crate::handler::{Context, HandlerError};
use crate::scratch::ScratchFolder;

/// What every process of a group runs.
const SCRIPT: &str = include_str!("torchrun/update.py");

/// Starts groups of processes.
#[derive(Clone)]
pub struct Torchrun(Arc<Shared>);

struct Shared {
    settings: TorchrunSettings,
    models: ModelsFolder,
}

/// What a group says while it learns.
#[derive(Deserialize)]
struct Progress {
    /// From 0 to 1.
    progress: f32,
}

impl Torchrun {
    /// Groups with these settings, for the base models of `models`. Blocks while the interpreter is asked for its packages.
    ///
    /// # Errors
    /// The interpreter cannot be started, or lacks a package.
    pub fn new(settings: TorchrunSettings, models: ModelsFolder) -> Result<Self, TorchrunError> {
        check(&settings.python)?;
        Ok(Self(Arc::new(Shared { settings, models })))
    }

    /// Trains the members of a lesson. Dropping the future ends the group.
    ///
    /// # Errors
    /// The lesson is split into pieces or refused, the group fails, or its results do not fit the lesson.
    pub async fn train(&self, lesson: Lesson, context: &Context) -> Result<Learned, HandlerError> {
        let start = Instant::now();
        if lesson.payload.piece.is_some() {
            return Err(HandlerError::permanent(
                "the trainer `torchrun` does not split gradients into pieces: use `items.gradient_pieces` = 1, or \
                 `compute.trainer` = \"engine\"",
            ));
        }
        context.progress(0.0, "loading");
        let (shared, lesson) = (Arc::clone(&self.0), Arc::new(lesson));
        let handed = Arc::clone(&lesson);
        let folder = blocking(move || shared.hand_over(&handed)).await?;
        let command = self.0.command(folder.path());
        let reporting = context.clone();
        let said = move |line: &str| match serde_json::from_str(line) {
            Ok(Progress { progress }) => reporting.progress(progress, "learning"),
            Err(_) => tracing::debug!("torchrun: {line}"),
        };
        let ended = group::run(command, folder, said).await.map_err(|error| {
            let python = self.0.settings.python.display();
            HandlerError::Transient(format!("cannot start {python} (--torchrun-python): {error}"))
        })?;
        let checked = Arc::clone(&lesson);
        let (written, diagnostics) = blocking(move || accept::results(&checked, &ended)).await?;
        let members = lesson.payload.members.iter().zip(diagnostics);
        let result = UpdateResult {
            members: members
                .map(|(member, diagnostics)| MemberUpdated {
                    member: member.member,
                    version: member.from,
                    diagnostics,
                    geometry: None,
                })
                .collect(),
            gradient: None,
            seconds: start.elapsed().as_secs_f64(),
            halvings: 0,
            trainer: Trainer::Torchrun,
        };
        Ok(Learned::Members(written, result))
    }
}

impl Shared {
    /// A folder with everything that a group needs; deleted on drop.
    fn hand_over(&self, lesson: &Lesson) -> Result<ScratchFolder, HandlerError> {
        let name = &lesson.payload.base_model;
        let base = self.models.locate(name)?;
        lyceum_models::check_revision(name, &base)?;
        let base = base.canonicalize().map_err(disk)?;
        let folder = ScratchFolder::new().map_err(disk)?;
        hand_over::write(folder.path(), lesson, &base, &self.settings.device)?;
        std::fs::write(folder.path().join("update.py"), SCRIPT).map_err(disk)?;
        Ok(folder)
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.settings.python);
        command
            .args(["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"])
            .arg(self.settings.processes.to_string())
            // Else torchrun makes a folder of its own, which it leaves behind.
            .arg("--log-dir")
            .arg(folder.join("log"))
            .arg(folder.join("update.py"))
            .arg(folder)
            // Everything is in the folder, and nobody there needs the laboratory.
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("DATABASE_URL")
            .env_remove("LYCEUM_TOKEN");
        command
    }
}

/// How groups are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorchrunSettings {
    /// An interpreter with torch, transformers, peft and safetensors.
    pub python: PathBuf,
    /// Processes of a group; with GPUs, one for each.
    pub processes: u16,
    /// `cpu`, or `auto` for GPUs if there are any.
    pub device: String,
}

/// Why groups cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TorchrunError {
    /// The interpreter cannot be started.
    #[error("{} cannot be started (--torchrun-python): {source}", python.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The interpreter lacks packages, or is something else.
    #[error("{} cannot train (--torchrun-python): {reason}", python.display())]
    Unfit {
        /// The interpreter.
        python: PathBuf,
        /// What it said.
        reason: String,
    },
}

const PROGRAM: &str = "
import sys
from importlib.util import find_spec
missing = [name for name in ('torch', 'transformers', 'peft', 'safetensors') if find_spec(name) is None]
if missing:
    sys.exit('it has no ' + ', '.join(missing))
";

/// Refuses an interpreter that lacks a package.
fn check(python: &Path) -> Result<(), TorchrunError> {
    let said = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| TorchrunError::Start { python: python.to_owned(), source })?;
    if said.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&said.stderr);
    let reason = match reason.trim().lines().last() {
        Some(reason) => reason.to_owned(),
        None => said.status.to_string(),
    };
    Err(TorchrunError::Unfit { python: python.to_owned(), reason })
}

/// Bytes that are kept.
const KEPT: usize = 6000;

/// The last bytes of a stream.
#[derive(Clone, Debug, Default)]
struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Reads a stream to its end.
    fn follow(&self, mut stream: impl Read) {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&chunk[..count]);
            let over = kept.len().saturating_sub(KEPT);
            kept.drain(..over);
        }
    }

    /// What was read last, from the start of a line if it was cut.
    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        match text.split_once('\n') {
            Some((_, rest)) if kept.len() >= KEPT => rest.trim().to_owned(),
            _ => text.trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_in_whole_lines() {
        let tail = Tail::default();
        tail.follow("one\ntwo\n".as_bytes());
        assert_eq!(tail.text(), "one\ntwo");
        let many: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        tail.follow(many.as_bytes());
        let text = tail.text();
        assert!(text.len() <= KEPT && text.starts_with("line ") && text.ends_with("line 4999"));
    }
}
