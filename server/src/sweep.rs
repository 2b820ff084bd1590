//! Sweeps: an experiment as a file, of arms x seeds x a grid, whose runs begin as others end.

mod check;
mod expand;
mod file;
mod outlook;
mod schedule;

pub(crate) use check::check;
pub(crate) use expand::{ASKED_ABOVE, MAX_RUNS};
pub(crate) use file::{Read, Source, SweepPlan};
pub(crate) use outlook::Outlook;
pub(crate) use schedule::run;
