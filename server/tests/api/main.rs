//! The REST API over a real Postgres and real connections.

mod access;
mod answers;
mod benchmarks;
mod commands;
mod coverage;
mod creations;
mod description;
mod events;
mod fixtures;
mod harness;
mod lists;
mod login;
mod pages;
mod recipe;
mod remote;
mod runs;
mod schemathesis;
mod stored;
mod views;
