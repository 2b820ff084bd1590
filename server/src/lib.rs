//! Lyceum's server: settings, the command line, and what keeps the processes of one machine running.

pub mod cli;
mod command;
pub mod coordinator;
pub mod database;
pub mod doctor;
pub mod serve;
pub mod settings;
pub mod supervise;
pub mod token;
