//! What the recipes of self-play on code share: problems and their pool, the pipeline from a proposal to graded attempts,
//! members and their updates, and metrics. Each recipe says who plays, what rewards are, and what a step consists of.

mod attempt;
mod births;
mod check;
mod config;
mod experience;
mod judged;
mod learn;
mod members;
mod metrics;
mod overhead;
mod play;
mod pool;
mod population;
mod problem;
mod propose;
mod scene;
mod seeds;
mod solve;

pub use config::{ItemConfig, LearningConfig, PoolFilter, ProblemConfig, SamplingConfig, SeedDataset};
pub use metrics::{METRICS, Metric, metric_names};
pub use pool::Pool;
pub use seeds::{SeedProblem, shipped_seeds};

pub(crate) use attempt::Attempt;
pub(crate) use config::Groups;
pub(crate) use experience::Experience;
pub(crate) use judged::Judged;
pub(crate) use learn::{Learner, Sequence};
pub(crate) use members::{Living, Names, founders};
pub(crate) use metrics::Tally;
pub(crate) use play::Rules;
pub(crate) use population::{MOST_PROPOSALS, population_faults, read_parameters, written_out};
pub(crate) use problem::Problem;
pub(crate) use propose::Ask;
pub(crate) use scene::Scene;
pub(crate) use solve::{Exam, Sitting};
