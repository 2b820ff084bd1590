//! Supervision of the processes on one machine: the data folder, the private Postgres, the local worker.

pub mod data_folder;
pub(crate) mod demo;
mod stop;
pub mod worker;

pub use data_folder::DataFolder;
pub use stop::Stop;
