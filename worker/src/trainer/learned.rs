//! What a trainer gives back.

use lyceum_core::work::UpdateResult;

/// The result of an update before its artifacts are stored. Until then the members' versions are those that they started
/// from.
pub enum Learned {
    /// New versions, in the order of the members.
    Members(Vec<Written>, UpdateResult),
    /// A piece of a gradient.
    Gradient(Vec<u8>, UpdateResult),
}

/// A member's new files.
pub struct Written {
    /// The archive of its adapter.
    pub weights: Vec<u8>,
    /// The file of its optimizer state.
    pub optimizer: Vec<u8>,
}
