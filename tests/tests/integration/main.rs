//! Whole-system tests, one module a subject.

mod artifacts;
mod benchmarks;
mod by_hand;
mod crashes;
mod cross_play;
mod dataset_checks;
mod doctor;
mod engine;
mod environments;
mod frozen_side;
mod gasp;
mod gpu;
mod operator_retention;
mod queue;
mod releases;
mod rlvr;
mod runs;
mod rzero;
mod sage;
mod scheduling;
mod selfplay;
mod seminar;
mod served;
mod torchrun;
mod worker_role;
