//! Which rows of a suite are measured, if not all.

use crate::seed::derive;

/// `count` of `rows` rows, in order: one of each of as many equally long stretches, so that they are spread over a suite that
/// is sorted by difficulty or source. Which one is drawn with a fixed seed, so that everybody who asks for as many gets the
/// same. All rows, if `count` is no less.
pub fn spread_rows(rows: u32, count: u32) -> Vec<u32> {
    let count = count.min(rows);
    let edge = |place: u32| (u64::from(place) * u64::from(rows) / u64::from(count.max(1))) as u32;
    let draw = |place: u32| {
        let (first, end) = (edge(place), edge(place + 1));
        let offset = derive(0, "sample of rows", place.into()) % u64::from((end - first).max(1));
        first + offset as u32
    };
    (0..count).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rows_of_a_sample_never_change() {
        // Python: int.from_bytes(hashlib.sha256(struct.pack("<QQ", 0, 14) + b"sample of rows" + struct.pack("<Q", i)).digest()[:8],
        // "little") % 25 + 25 * i for i in range(4)
        assert_eq!(spread_rows(100, 4), [19, 41, 63, 92]);
    }

    proptest! {
        #[test]
        fn every_stretch_of_the_suite_has_one_row(rows in 1_u32..5000, count in 1_u32..5000) {
            let drawn = spread_rows(rows, count);
            prop_assert_eq!(drawn.len() as u32, count.min(rows));
            let width = rows.div_ceil(count.min(rows));
            for (place, row) in (0_u32..).zip(&drawn) {
                let start = u64::from(place) * u64::from(rows) / drawn.len() as u64;
                prop_assert!(*row < rows && (start..start + u64::from(width)).contains(&u64::from(*row)));
            }
            prop_assert!(drawn.is_sorted_by(|a, b| a < b));
            if count >= rows {
                prop_assert_eq!(drawn, (0..rows).collect::<Vec<_>>());
            }
        }
    }
}
