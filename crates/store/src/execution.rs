//! Runs and evaluations, as far as they are executed alike: begin, pause, resume, cancel, fork, remove.

mod begin;
mod fork;
mod remove;
mod state;
mod update;

pub(crate) use begin::open_step;
pub use begin::{NewEvaluation, NewRun, begin_evaluation, begin_run};
pub use fork::{Fork, fork_run, state_at};
pub use remove::remove_run;
pub use state::{State, UnknownState, cancel, fail, lock, pause, resume};
pub(crate) use state::{restart, stop};
pub use update::{RunChanges, update_run};
