//! The archive of a run: its map at a step, and how it came to be.

mod cells;
mod insertions;
mod map;
mod write;

pub use cells::{Cell, cells_at};
pub use insertions::{Insertion, insertions};
pub use map::{Archived, Growth, MapCell, archived, growth, map_at};
pub(crate) use write::write;
