//! Projections with the same input, joined into one matrix.

use lyceum_core::work::Projection;

/// One of the four matrices of a decoder layer. Projections with the same input are one matrix, whose output is the
/// concatenation of their outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointProjection {
    /// q, k and v.
    Qkv,
    /// The attention's output projection.
    O,
    /// gate and up.
    GateUp,
    /// The MLP's output projection.
    Down,
}

impl JointProjection {
    /// All of them, in the order in which a layer applies them.
    pub const ALL: [Self; 4] = [Self::Qkv, Self::O, Self::GateUp, Self::Down];

    /// The projections in the order of their outputs.
    pub fn parts(self) -> &'static [Projection] {
        match self {
            Self::Qkv => &[Projection::Q, Projection::K, Projection::V],
            Self::O => &[Projection::O],
            Self::GateUp => &[Projection::Gate, Projection::Up],
            Self::Down => &[Projection::Down],
        }
    }
}
