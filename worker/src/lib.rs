//! Takes work from the queue and runs it. The binary `lyceum-worker` brings the product's handlers; whoever brings
//! other handlers uses [`runtime::Runtime`] alike.

#[cfg(feature = "engine")]
pub mod engine;
pub mod handler;
pub mod handlers;
#[cfg(feature = "engine")]
pub mod heap;
pub mod runtime;
