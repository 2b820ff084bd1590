//! `lyceum-worker grade` on the benchmarks' own files: right ones right, wrong ones wrong, and the peers of the same mind.

mod canonical;
mod command;
mod mutants;
mod peers;
mod refusals;
