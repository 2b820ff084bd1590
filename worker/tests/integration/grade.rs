//! `lyceum-worker grade` on the benchmarks' original files: correct and wrong solutions, and agreement with the peers.

mod canonical;
mod command;
mod mutants;
mod peers;
mod refusals;
