//! Supervision of the processes on one machine: the data folder, the private Postgres, the server, the local worker.

mod crashes;
pub mod data_folder;
pub(crate) mod demo;
pub mod server;
mod stop;
pub mod worker;

pub use crashes::Recorder;
pub(crate) use crashes::host;
pub use data_folder::DataFolder;
pub use stop::Stop;
