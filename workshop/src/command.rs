//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod held_out;
mod posed;
pub(crate) mod pretrain;
pub(crate) mod questions;
pub(crate) mod training;
