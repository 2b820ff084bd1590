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

pub(crate) use self::{
    check::{shown, solvable},
    config::{Groups, MOST_PROPOSALS, Play, STRETCHED, context_faults, resolve_prompts},
    metrics::{Tally, metrics},
    problem::Problem,
    propose::{Ask, Judged},
    scene::{Experience, Scene},
    seeds::SEED,
    solve::{Assignment, Attempt, AttemptBatch, SolveProtocol},
};
pub use self::{
    config::{PoolFilter, ProblemConfig, SeedDataset},
    seeds::shipped_seeds,
};
