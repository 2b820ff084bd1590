//! Reading and writing adapter folders in peft's format, restricted to what vLLM accepts.

mod archive;
mod config;
mod read;
mod write;

pub use archive::AdapterFiles;
pub(crate) use archive::require_new;
pub use config::AdapterConfig;
pub use read::{Adapter, read_population};
pub use write::{member_files, write_member};

use lyceum_core::work::Projection;

/// Name of the weights file in an adapter folder.
pub const WEIGHTS: &str = "adapter_model.safetensors";
/// Name of the configuration file in an adapter folder.
pub const CONFIG: &str = "adapter_config.json";

/// The key of a factor: peft's prefix, the module's path, and the factor (`A` or `B`).
pub(crate) fn key(layer: usize, projection: Projection, factor: char) -> String {
    format!(
        "base_model.model.model.layers.{layer}.{}.{projection}.lora_{factor}.weight",
        projection.block()
    )
}
