//! The commands, one file each.

pub(crate) mod verify;
pub(crate) mod work;
