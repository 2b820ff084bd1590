//! Adapters in peft's format, restricted to what vLLM accepts.

mod archive;
mod config;
mod pattern;

pub use archive::{AdapterFiles, pack, require_new, unpack};
pub use config::AdapterConfig;

use lyceum_core::work::Projection;

/// Name of the weights file in an adapter folder.
pub const WEIGHTS: &str = "adapter_model.safetensors";
/// Name of the configuration file in an adapter folder.
pub const CONFIG: &str = "adapter_config.json";

/// The key of a factor: peft's prefix, the module's path, and the factor (`A` or `B`).
pub fn key(layer: usize, projection: Projection, factor: char) -> String {
    format!(
        "base_model.model.model.layers.{layer}.{}.{projection}.lora_{factor}.weight",
        projection.block()
    )
}
