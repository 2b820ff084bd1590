//! A stretch of a run.

/// Steps of a run, and how many of them a point of a curve stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first step.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// Steps of a point; at least 1.
    pub width: u32,
}

impl Stretch {
    /// All steps, `width` to a point.
    #[must_use]
    pub fn whole(width: u32) -> Self {
        Self {
            from: 0,
            to: i32::MAX.cast_unsigned(),
            width: width.max(1),
        }
    }

    /// From, to and width as Postgres takes them.
    pub(crate) fn binds(self) -> [i32; 3] {
        [self.from, self.to, self.width.max(1)].map(|steps| i32::try_from(steps).unwrap_or(i32::MAX))
    }
}
