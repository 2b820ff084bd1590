//! Lyceum's server: settings, the command line, and supervision of the processes on one machine.

pub mod access;
pub mod api;
mod api_error;
mod base_weights;
mod checks;
pub mod cli;
mod client;
mod command;
pub mod coordinator;
mod curriculum;
pub mod database;
mod dataset_use;
mod diversity;
pub mod doctor;
mod estimate;
mod evaluation;
mod events;
mod file_body;
mod goalposts;
mod inert;
pub mod log;
pub mod openapi;
mod pages;
mod rows;
mod rows_asked;
pub mod serve;
pub mod settings;
mod shipped_dataset;
mod spool;
mod step_figures;
pub mod supervise;
mod sweep;
pub mod token;
mod tracker;
mod vocabulary;

pub use inert::inert;
