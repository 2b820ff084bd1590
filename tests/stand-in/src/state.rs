//! What the server has and has seen.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use tokio::sync::watch;

use super::fault::Fault;
use super::generator::Generator;

/// What a server has been asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests to complete.
    pub completions: usize,
    /// Those of them that name the base.
    pub bare: usize,
    /// The most requests to complete at once.
    pub at_once: usize,
    /// Requests to complete that wait for an answer that will not come.
    pub hanging: usize,
    /// Requests whose client broke off before the answer.
    pub aborted: usize,
    /// Adapters that were loaded, in order, and once more for each further time.
    pub loads: Vec<String>,
    /// Adapters that were unloaded, in order.
    pub unloads: Vec<String>,
}

pub(super) struct State {
    /// The name of the base.
    pub(super) name: String,
    /// Its folder, as `--model` says it.
    pub(super) root: String,
    pub(super) longest: i64,
    pub(super) generator: Generator,
    pub(super) resolver: Option<PathBuf>,
    /// One adapter is found at a time.
    pub(super) resolving: tokio::sync::Mutex<()>,
    /// Adapters by name, with their folders.
    pub(super) adapters: Mutex<BTreeMap<String, String>>,
    faults: Mutex<VecDeque<Fault>>,
    seen: watch::Sender<Seen>,
    running: Mutex<usize>,
}

impl State {
    pub(super) fn new(model: &Path, resolver: Option<&Path>) -> Result<Self> {
        let name = model.file_name().context("a model folder without a name")?;
        let generator = Generator::start(model)?;
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            root: model.display().to_string(),
            longest: generator.longest,
            generator,
            resolver: resolver.map(Path::to_owned),
            resolving: tokio::sync::Mutex::default(),
            adapters: Mutex::default(),
            faults: Mutex::default(),
            seen: watch::Sender::default(),
            running: Mutex::default(),
        })
    }

    pub(super) fn fail(&self, faults: &[Fault]) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).extend(faults);
    }

    pub(super) fn next_fault(&self) -> Option<Fault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    pub(super) fn remember(&self, seen: Seen) {
        self.seen.send_replace(seen);
    }

    pub(super) fn note(&self, note: impl FnOnce(&mut Seen)) {
        self.seen.send_modify(note);
    }

    pub(super) async fn until(&self, what: impl Fn(&Seen) -> bool) {
        // The sender is this state's own.
        let _ = self.seen.subscribe().wait_for(what).await;
    }

    /// Counts a request to complete until the result is dropped.
    pub(super) fn running(&self) -> Running<'_> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        let now = *running;
        self.note(|seen| {
            seen.completions += 1;
            seen.at_once = seen.at_once.max(now);
        });
        Running { state: self, is_answered: false }
    }
}

/// A request to complete.
pub(super) struct Running<'s> {
    state: &'s State,
    pub(super) is_answered: bool,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.state.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        if !self.is_answered {
            self.state.note(|seen| seen.aborted += 1);
        }
    }
}
