//! Arithmetic on fp32 numbers in CPU memory: loops that libtorch runs in several passes with a temporary tensor between
//! each, and products of matrices, for which libtorch's library does not use the vector units of every CPU. Here each
//! loop is one pass, compiled for the vector units of several CPUs; the version is chosen at run time.
//!
//! Matrices are row-major slices unless stated otherwise. Work is spread over `threads`; results do not depend on their
//! number. The last bits depend on the CPU: on its vector units and cache sizes.

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
