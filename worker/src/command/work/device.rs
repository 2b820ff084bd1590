//! The device as reported by a worker, for people and for leaving items that need more memory to others.

use super::machine_memory;

/// A device by name, with the memory that an item may take of it if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    /// `cpu`, or the GPU's name.
    pub(super) name: String,
    /// In bytes.
    pub(super) memory_bytes: Option<u64>,
}

impl Device {
    /// A CPU with what its machine has left.
    pub(super) fn cpu() -> Self {
        Self {
            name: "cpu".to_owned(),
            memory_bytes: machine_memory::offered(),
        }
    }

    /// The GPU that CUDA counts as `index`, with what was free on it at the start.
    #[cfg(feature = "engine")]
    pub(super) fn cuda(index: usize) -> Self {
        use lyceum_engine::device;
        let name = device::gpu_name(index).unwrap_or_else(|| format!("cuda:{index}"));
        let memory_bytes = device::memory(index);
        if memory_bytes.is_none() {
            tracing::warn!(
                "the memory of {name} is not known, so items of any size are taken here; set --device-memory-gib to what they \
                 may need"
            );
        }
        Self { name, memory_bytes }
    }
}
