//! Runs.

mod begin;
mod fork;
mod inherit;
mod page;
mod remove;
mod row;
mod update;

pub use begin::{NewRun, begin};
pub use fork::{Fork, fork, state_at};
pub use page::{RunFilter, RunSort, page};
pub use remove::remove;
pub use row::{Run, RunDetail, find, names};
pub use update::{RunChanges, update};
