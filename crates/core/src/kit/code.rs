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

pub(crate) use self::{
    attempt::Attempt,
    check::{shown, solvable},
    config::{Groups, MOST_PROPOSALS, STRETCHED, context_faults, resolve_prompts},
    experience::Experience,
    judged::Judged,
    metrics::{Tally, metrics},
    play::Play,
    problem::Problem,
    propose::Ask,
    scene::Scene,
    seeds::SEED,
    solve::{Desk, Exam, Sitting},
};
pub use self::{
    config::{PoolFilter, ProblemConfig, SeedDataset},
    seeds::shipped_seeds,
};
