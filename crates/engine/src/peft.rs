//! Reading and writing adapter folders in peft's format, restricted to what vLLM accepts.

mod read;
mod write;

pub use lyceum_models::peft::{AdapterConfig, AdapterFiles, CONFIG, WEIGHTS};
pub(crate) use lyceum_models::peft::{key, require_new};
pub use read::{Adapter, read_population};
pub use write::{member_files, write_member};
