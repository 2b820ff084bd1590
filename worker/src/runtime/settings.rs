//! Settings of a worker, and how it identifies itself.

use std::time::Duration;

use lyceum_core::id::WorkerId;
use lyceum_core::work::Kernels;
use lyceum_store::queue::Lane;
use uuid::Uuid;

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct RuntimeSettings {
    /// New with every start, so that nobody is mistaken for a predecessor.
    pub id: WorkerId,
    /// Display name.
    pub name: String,
    /// `cpu`, or the GPU's name.
    pub device: String,
    /// The instruction set of the processor that it computes on, if it has a name.
    pub kernels: Option<Kernels>,
    /// Concurrent `verify` items.
    pub verifier_slots: usize,
    /// Concurrent items of other kinds, which share the device.
    pub engine_slots: usize,
    /// Concurrent items whose tokens servers generate.
    pub served_slots: usize,
    /// Base models that it can load; `None` means any.
    pub base_models: Option<Vec<String>>,
    /// Memory of its device, in bytes.
    pub memory_bytes: u64,
    /// Bytes of adapters that stay in the temporary folder after their items.
    pub adapters_bytes: u64,
    /// Lease of a claim. A lost worker's items are retried after this at the earliest.
    pub lease: Duration,
    /// Interval between heartbeats.
    pub heartbeat: Duration,
    /// Interval for polling the queue, in case a notification was missed.
    pub tick: Duration,
    /// Time for items to finish when the worker is stopped.
    pub drain_time: Duration,
    /// Versions of the libraries it runs with.
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
            kernels: None,
            verifier_slots: cores,
            engine_slots: 1,
            served_slots: 16,
            base_models: None,
            memory_bytes: i64::MAX.cast_unsigned(),
            adapters_bytes: 4 << 30,
            lease: Duration::from_secs(30),
            heartbeat: Duration::from_secs(5),
            tick: Duration::from_secs(1),
            drain_time: Duration::from_secs(30),
            versions: serde_json::json!({ "lyceum": env!("CARGO_PKG_VERSION") }),
        }
    }
}

impl RuntimeSettings {
    /// Whether its engine computes on a GPU.
    pub(super) fn has_gpu(&self) -> bool {
        self.device != "cpu"
    }

    pub(super) fn slots(&self, lane: Lane) -> usize {
        match lane {
            Lane::Verifier => self.verifier_slots,
            Lane::Engine => self.engine_slots,
            Lane::Served => self.served_slots,
        }
    }
}

/// The machine's name.
pub(super) fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}
