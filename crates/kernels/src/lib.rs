//! Loops over fp32 numbers in a CPU's memory that libtorch makes in several passes, with a tensor of its own between any two.
//! Each is one pass here, compiled for the vector units of several CPUs, of which the running one is chosen.
//!
//! Matrices are slices, row after row. What depends on rows alone is shared out over `threads`; results do not depend on how
//! many there are. Nothing here multiplies matrices: libtorch does.

pub mod adamw;
pub mod attention;
mod exp;
pub mod gated;
pub mod head;
pub mod norm;
mod share;
pub mod squares;
mod sum;
