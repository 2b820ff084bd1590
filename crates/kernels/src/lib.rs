//! Arithmetic on fp32 numbers in a CPU's memory: loops that libtorch makes in several passes, with a tensor of its own between any
//! two, and products of matrices, for which libtorch's library does not use the vector units of every CPU. Each loop is one pass
//! here, compiled for the vector units of several CPUs, of which the running one is chosen.
//!
//! Matrices are slices, row after row, where nothing else is said. Work is shared out over `threads`; results do not depend on
//! how many there are. The last bits depend on the CPU: on its vector units and the sizes of its caches.

pub mod adamw;
pub mod attention;
mod exp;
pub mod gated;
pub mod head;
pub mod norm;
pub mod product;
mod share;
pub mod squares;
mod sum;
