//! Bounds of values in requests. Those of names, notes and tags are also in the CHECKs of `migrations/`.

/// Characters of a name.
pub(crate) const NAME: usize = 200;
/// Characters of a note or description.
pub(crate) const NOTE: usize = 20_000;
/// Number of tags.
pub(crate) const TAGS: usize = 50;
/// Rows per page.
pub(crate) const ROWS: u32 = 100;
