//! Workers: processes that take work.

mod page;
mod presence;
mod state;
mod throughput;

pub use page::{Worker, WorkerFilter, find, page};
pub use presence::{Doing, NewWorker, register, seen};
pub use state::WorkerState;
pub use throughput::{Throughput, throughput};
