//! Safetensors files, single or sharded, read by name with every shape checked.

mod checkpoint;
mod write;

pub(crate) use checkpoint::is_finite;
pub use checkpoint::{Checkpoint, CheckpointTensor};
pub use write::write_safetensors;
