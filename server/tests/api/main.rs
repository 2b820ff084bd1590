//! The REST API over a real Postgres and real connections.

mod access;
mod answers;
mod benchmark_pages;
mod benchmarks;
mod commands;
mod compression;
mod coverage;
mod creations;
mod description;
mod events;
mod every_page;
mod export;
mod fixtures;
mod harness;
mod imports;
mod lists;
mod login;
mod pages;
mod recipe;
mod remote;
mod runs;
mod schemathesis;
mod solve_rates;
mod stored;
mod sums;
mod views;
