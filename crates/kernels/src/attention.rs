//! The parts of causal attention around its matrix products: rotating queries and keys, laying out the operands, and
//! turning scores into weights.

mod layout;
mod weights;

pub use layout::{Gradients, Heads, Rotation, Shape, join, join_backward, split, split_backward};
pub use weights::{weights, weights_backward};
