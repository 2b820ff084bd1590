//! The product's handlers, one file a kind of work.

mod verify;

pub use verify::VerifyHandler;
