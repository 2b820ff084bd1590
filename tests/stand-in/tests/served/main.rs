//! What a worker makes of a server's answers, and of their absence.

mod adapters;
mod agreement;
mod faults;
mod replicas;
mod stage;
