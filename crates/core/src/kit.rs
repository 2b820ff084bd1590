//! What recipes and evaluations share: steps being planned, judged answers, problems of code and mathematics, rows of
//! datasets. Imports neither recipes nor evaluations.

pub mod code;
pub(crate) mod config;
pub(crate) mod draft;
pub(crate) mod judge;
pub(crate) mod measures;
mod pause;
mod pool;
pub(crate) mod room;
pub mod rows;
#[cfg(test)]
pub(crate) mod watched;

pub use self::code::PoolFilter;
pub(crate) use self::config::frozen_faults;
pub use self::config::{Band, ItemConfig, LearningConfig, SamplingConfig, Scheduler, sampling_faults};
pub use self::draft::{
    Draft, Generation, Learner, Lesson, Member, Names, Sample, Sequence, completions, founders, population_faults,
    read_parameters, resolved, single_population_fault, written_out,
};
pub use self::pause::{Pause, Progress, both, join};
pub use self::pool::Pool;
