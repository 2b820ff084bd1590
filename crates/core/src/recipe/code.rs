//! Shared parts of recipes that play with code problems (Absolute Zero, PopuLoRA): problems and their pool, the phases
//! from a proposal to graded attempts, and metrics. Each recipe defines the players, the rewards and the course of a
//! step.

mod attempt;
mod check;
mod config;
mod experience;
mod judged;
mod metrics;
mod overhead;
mod play;
mod problem;
mod propose;
mod scene;
mod seeds;
mod solve;

pub use config::{PoolFilter, ProblemConfig, SeedDataset};
pub use seeds::shipped_seeds;

pub(crate) use attempt::Attempt;
pub(crate) use check::{shown, solvable};
pub(crate) use config::{Groups, MOST_PROPOSALS, STRETCHED, context_faults, resolve_prompts};
pub(crate) use experience::Experience;
pub(crate) use judged::Judged;
pub(crate) use metrics::{Tally, metrics};
pub(crate) use play::Play;
pub(crate) use problem::Problem;
pub(crate) use propose::Ask;
pub(crate) use scene::Scene;
pub(crate) use seeds::SEED;
pub(crate) use solve::{Desk, Exam, Sitting};
