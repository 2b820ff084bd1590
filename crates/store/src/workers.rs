//! Workers: processes that take work.

mod page;
mod presence;
mod state;
mod throughput;
mod usage;

pub use page::{Worker, WorkerFilter, find, page};
pub use presence::{Doing, NewWorker, register, seen};
pub use state::WorkerState;
pub use throughput::{Throughput, throughput};
pub use usage::{Usage, UsageMinute, newest_usage, report, tidy_usage, usage};
