//! Steps of runs and evaluations.

mod durations;
mod page;
mod phases;
mod step_ref;
mod stretch;

pub use durations::{seconds, seconds_with_past};
pub use page::{Step, ends, find, page};
pub use phases::{PhaseProgress, phases};
pub(crate) use step_ref::StepRef;
pub use stretch::Stretch;
