//! Lyceum's server: settings, the command line, and what keeps the processes of one machine running.

pub mod cli;
mod command;
pub mod database;
pub mod serve;
pub mod settings;
pub mod supervise;
pub mod token;
