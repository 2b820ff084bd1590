//! Sweeps: planned runs of an experiment, of which some are in progress at a time.

mod row;
mod state;

pub use row::{NewSweep, PlannedRun, Sweep, SweepFilter, SweepRun, create, find, page, points, runs};
pub use state::{
    Progress, SweepChanges, SweepState, begun, cancel, change, complete, failed_to_begin, lock, next, pause, progress,
    resume, running,
};
