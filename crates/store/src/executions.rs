//! What runs and evaluations share: starting, pausing, resuming, failing and ending.

mod begin;
mod device;
mod pace;
mod state;

pub(crate) use begin::{NewExecution, insert, open_step};
pub use device::is_on_gpu;
pub use pace::{Pace, pace, stalled_since};
pub use state::{State, cancel, fail, lock, pause, resume};
pub(crate) use state::{restart, stop};
