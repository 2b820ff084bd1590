//! Causal attention around its matrix products: queries, keys and values are rotated and laid out for the products, and weights
//! are made of scores.

mod layout;
mod weights;

pub use layout::{Gradients, Heads, Rotation, Shape, join, join_backward, split, split_backward};
pub use weights::{weights, weights_backward};
