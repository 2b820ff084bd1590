//! The commands, one file each.

pub(crate) mod bench;
mod bench_verify;
pub(crate) mod verify;
pub(crate) mod work;
