//! Safetensors files, one or sharded, read by name with every shape checked.

mod checkpoint;
mod write;

pub use checkpoint::{Checkpoint, CheckpointTensor};
pub(crate) use write::write_safetensors;
