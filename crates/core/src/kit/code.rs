//! Shared parts of recipes that play with code problems (Absolute Zero, PopuLoRA): problems and their pool, the phases
//! from a proposal to graded attempts, and metrics. Each recipe defines the players, the rewards and the course of a
//! step.

mod check;
mod config;
mod metrics;
mod overhead;
mod problem;
mod propose;
mod scene;
mod seeds;
mod solve;
mod warm_up;

pub(crate) use self::check::{shown, solvable};
pub(crate) use self::config::{Groups, MOST_PROPOSALS, Play, STRETCHED, context_faults, resolve_prompts};
pub use self::config::{PoolFilter, ProblemConfig, SeedDataset};
pub(crate) use self::metrics::{Tally, metrics};
pub(crate) use self::problem::Problem;
pub(crate) use self::propose::{Ask, Judged};
pub(crate) use self::scene::{Experience, Scene};
pub(crate) use self::seeds::SEED;
pub use self::seeds::shipped_seeds;
pub(crate) use self::solve::{Assignment, Attempt, AttemptBatch, SolveProtocol};
pub use self::warm_up::{WarmUp, WarmUpReward};
