//! Takes work from the queue and runs it. The binary `lyceum-worker` has the product's handlers; programs with other
//! handlers use the same [`runtime::Runtime`].

pub mod adapter;
pub mod by_hand;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "engine")]
pub mod environment;
pub mod grading;
pub mod handler;
pub mod handlers;
#[cfg(feature = "engine")]
pub mod heap;
pub mod item_log;
pub mod lines;
mod panic;
mod persist;
pub mod pool;
pub mod progress;
pub mod recheck;
pub mod runtime;
pub mod sampler;
pub mod scratch;
pub mod trainer;

pub use lyceum_models::ModelsFolder;
