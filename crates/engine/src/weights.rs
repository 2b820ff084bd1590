//! Safetensors files, one or sharded, read by name with every shape checked.

mod checkpoint;

pub use checkpoint::{Checkpoint, CheckpointTensor};
