//! Lyceum's server: settings, the command line, and supervision of the processes on one machine.

pub mod access;
mod api_error;
mod base_weights;
mod chat_template;
pub mod cli;
mod client;
mod command;
mod contract;
pub mod coordinator;
pub mod database;
pub mod doctor;
mod estimate;
mod events;
mod frame;
mod hub;
mod hub_push;
pub mod lab;
pub mod log;
pub mod openapi;
mod rows_asked;
pub mod serve;
pub mod settings;
mod subjects;
pub mod supervise;
pub mod token;
mod tracker;
mod vocabulary;

pub use frame::text::inert;
