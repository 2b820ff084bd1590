//! The engine for handlers: one thread with the loaded model, and adapter versions from the artifact store.

mod adapter;
mod models;
mod thread;

pub use adapter::Version;
pub(crate) use adapter::{OPTIMIZER, disk};
pub use models::{Loaded, Models};
pub(crate) use thread::fault;
pub use thread::{Engine, Job};
