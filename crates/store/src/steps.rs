//! Steps of runs and evaluations.

mod page;
mod phases;
mod step_ref;
mod stretch;

pub use page::{Step, ends, find, page, seconds};
pub use phases::{PhaseProgress, phases};
pub(crate) use step_ref::StepRef;
pub use stretch::Stretch;
