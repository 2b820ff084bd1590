//! The commands, one file each.

pub(crate) mod bench;
pub(crate) mod effects;
pub(crate) mod pretrain;
