//! Finds the answer in a model's output.

pub mod boxed;
mod fence;

pub use boxed::{last_boxed, last_boxes};
pub use fence::{Block, fenced_blocks, last_block, tagged};
