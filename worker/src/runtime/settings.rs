//! What a worker is told.

use lyceum_core::id::WorkerId;
use lyceum_store::queue::Lane;
use std::time::Duration;
use uuid::Uuid;

/// What a worker is told.
#[derive(Clone, Debug)]
pub struct RuntimeSettings {
    /// New with every start, so that nobody is mistaken for a predecessor.
    pub id: WorkerId,
    /// What people call it.
    pub name: String,
    /// `cpu`, or the GPU's name.
    pub device: String,
    /// Items verified at once.
    pub verifier_slots: usize,
    /// Items of other kinds at once; they share the device.
    pub engine_slots: usize,
    /// Base models that it can load; `None` can load any.
    pub base_models: Option<Vec<String>>,
    /// Memory of its device, in bytes.
    pub memory_bytes: u64,
    /// How long a claim holds without renewal. A lost worker's items are tried again after this at the earliest.
    pub lease: Duration,
    /// Between signs of life.
    pub heartbeat: Duration,
    /// Between looks into the queue for what no notification told.
    pub tick: Duration,
    /// Time that items have to end when the worker is told to stop.
    pub drain_time: Duration,
    /// Releases of what it runs with.
    pub versions: serde_json::Value,
}

impl Default for RuntimeSettings {
    fn default() -> Self {
        let id = WorkerId(Uuid::now_v7());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            id,
            name: format!("worker-{}", &id.to_string()[24..]),
            device: "cpu".to_owned(),
            verifier_slots: cores,
            engine_slots: 1,
            base_models: None,
            memory_bytes: i64::MAX.cast_unsigned(),
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
            tick: Duration::from_secs(1),
            drain_time: Duration::from_secs(30),
            versions: serde_json::json!({ "lyceum": env!("CARGO_PKG_VERSION") }),
        }
    }
}

impl RuntimeSettings {
    pub(super) fn slots(&self, lane: Lane) -> usize {
        match lane {
            Lane::Verifier => self.verifier_slots,
            Lane::Engine => self.engine_slots,
        }
    }
}
