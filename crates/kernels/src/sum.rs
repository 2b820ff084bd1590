//! Sums and maxima in sixteen lanes. Vector units can follow this order, and it is the same on every CPU.

const LANES: usize = 16;

/// The sum of `term` over pairs of entries.
#[inline(always)]
pub(crate) fn of_pairs(left: &[f32], right: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (mut lefts, mut rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    for (left, right) in (&mut lefts).zip(&mut rights) {
        for lane in 0..LANES {
            lanes[lane] += term(left[lane], right[lane]);
        }
    }
    let rest = lefts.remainder().iter().zip(rights.remainder());
    lanes.iter().sum::<f32>() + rest.map(|(&left, &right)| term(left, right)).sum::<f32>()
}

/// The largest entry; −∞ if there are none. NaN entries are ignored.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            lanes[lane] = larger(lanes[lane], chunk[lane]);
        }
    }
    lanes.iter().chain(chunks.remainder()).copied().fold(f32::NEG_INFINITY, larger)
}
