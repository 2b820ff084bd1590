//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod held_out;
pub(crate) mod pretrain;
