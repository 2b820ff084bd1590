//! Adapters in peft's format, restricted to what vLLM accepts.

mod archive;
mod check;
mod config;
mod pattern;

pub use archive::{AdapterFiles, pack, require_new, unpack};
pub use check::Refusal;
pub use config::AdapterConfig;

use lyceum_core::work::Projection;

/// Name of the weights file in an adapter folder.
pub const WEIGHTS: &str = "adapter_model.safetensors";
/// Name of the weights file that older versions of peft wrote.
pub const PICKLE: &str = "adapter_model.bin";
/// Why [`PICKLE`] is not read.
pub const PICKLED: &str = "has its weights in adapter_model.bin, a pickle, which could run code and is not read: save it again with \
                           peft's `save_pretrained`, which writes adapter_model.safetensors";
/// Name of the weights file that mlx-lm writes.
pub const MLX_WEIGHTS: &str = "adapters.safetensors";
/// Why it is not read.
pub const OF_MLX: &str =
    "is an adapter of mlx-lm, not of peft: its factors are transposed and its scaling differs, so convert it first";
/// Name of the configuration file in an adapter folder.
pub const CONFIG: &str = "adapter_config.json";

/// The key of a factor: peft's prefix, the module's path, and the factor (`A` or `B`).
pub fn key(layer: usize, projection: Projection, factor: char) -> String {
    format!("base_model.model.model.layers.{layer}.{}.{projection}.lora_{factor}.weight", projection.block())
}
