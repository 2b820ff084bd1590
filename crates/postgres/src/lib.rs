//! Runs a private Postgres from the system's own binaries.
//!
//! [`PrivatePostgres`] keeps a cluster in a folder, reachable only by a unix socket in a folder of mode 0700, and
//! restarts it when it dies. Postgres refuses to run as root, so root runs it as the `postgres` account.
//!
//! [`TestCluster`] is a variant for tests: one cluster per machine, without durability, with a fresh database for each
//! test, and cleaned up afterwards.

mod account;
mod binaries;
mod cluster;
mod error;
pub mod last_words;
mod postmaster;
mod private;
pub mod process;
mod socket;
mod test_cluster;

pub use binaries::{Binaries, OLDEST_MAJOR};
pub use error::Error;
pub use private::PrivatePostgres;
pub use test_cluster::{TestCluster, TestDatabase};

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
