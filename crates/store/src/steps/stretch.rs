//! Ranges of steps.

/// A range of steps, and how many of them each point of a curve covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first step.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// Steps per point; at least 1.
    pub width: u32,
}

impl Stretch {
    /// All steps, `width` per point.
    #[must_use]
    pub fn whole(width: u32) -> Self {
        Self {
            from: 0,
            to: i32::MAX.cast_unsigned(),
            width: width.max(1),
        }
    }

    /// First, last and width as Postgres' integers.
    pub(crate) fn binds(self) -> [i32; 3] {
        [self.from, self.to, self.width.max(1)].map(|steps| i32::try_from(steps).unwrap_or(i32::MAX))
    }
}
