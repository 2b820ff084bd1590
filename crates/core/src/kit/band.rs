//! A band of shares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// Bounds of a share, such as that of the answers that agree with the majority; both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Band(pub [f64; 2]);

impl Band {
    /// Whether `count` of `of` is within the bounds. Counts are compared, so that 3 of 10 is within bounds from 0.3.
    pub fn has(self, count: u32, of: u32) -> bool {
        let Self([low, high]) = self;
        let (count, of) = (f64::from(count), f64::from(of));
        count >= low * of - 1e-9 && count <= high * of + 1e-9
    }

    /// Refuses bounds that are reversed or outside of [0, 1].
    pub(crate) fn fault(self, pointer: &str) -> Option<Fault> {
        let Self([low, high]) = self;
        let is_valid = 0.0 <= low && low <= high && high <= 1.0;
        (!is_valid).then(|| {
            let detail = format!("[{low}, {high}]: two shares from 0 to 1, the smaller one first, are valid");
            Fault::new(pointer, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_counts() {
        let band = Band([0.3, 0.7]);
        let within: Vec<u32> = (0..=10).filter(|count| band.has(*count, 10)).collect();
        assert_eq!(within, [3, 4, 5, 6, 7]);
        for of in 2..200 {
            for count in 0..=of {
                let exact = 10 * count >= 3 * of && 10 * count <= 7 * of;
                assert_eq!(band.has(count, of), exact, "{count} of {of}");
            }
        }
        for bad in [[0.7, 0.3], [-0.1, 0.5], [0.5, 1.1], [f64::NAN, 0.5]] {
            assert!(Band(bad).fault("/b").is_some(), "{bad:?}");
        }
        assert!(Band([0.5, 0.5]).fault("/b").is_none());
    }
}
