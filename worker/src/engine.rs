//! The engine for handlers: one thread with the loaded model.

mod models;
mod thread;

pub use models::{Loaded, Models};
pub(crate) use thread::fault;
pub use thread::{Engine, Job};
