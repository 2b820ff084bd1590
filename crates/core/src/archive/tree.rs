//! Exact nearest neighbours among fixed points.

use super::DIMENSIONS;

/// Points in a leaf, searched linearly.
const LEAF: usize = 8;

/// A balanced k-d tree (Bentley 1975) over fixed points. Ties go to the lowest index.
#[derive(Clone, Debug)]
pub struct KdTree {
    /// Points with their indices, arranged so that the middle of each range splits it along the axis of its depth.
    points: Vec<([f32; DIMENSIONS], u32)>,
}

impl KdTree {
    /// Builds a tree over `points`.
    pub fn new(points: &[[f32; DIMENSIONS]]) -> Self {
        let mut points: Vec<_> = points.iter().copied().zip(0..).collect();
        arrange(&mut points, 0);
        Self { points }
    }

    /// The index of the nearest point; `None` if there are no points.
    pub fn nearest(&self, point: [f32; DIMENSIONS]) -> Option<u32> {
        let mut best = (f32::INFINITY, u32::MAX);
        search(&self.points, 0, &point, &mut best);
        (!self.points.is_empty()).then_some(best.1)
    }
}

fn arrange(points: &mut [([f32; DIMENSIONS], u32)], depth: usize) {
    if points.len() <= LEAF {
        return;
    }
    let axis = depth % DIMENSIONS;
    let middle = points.len() / 2;
    points.select_nth_unstable_by(middle, |(a, at), (b, bt)| a[axis].total_cmp(&b[axis]).then(at.cmp(bt)));
    let (low, high) = points.split_at_mut(middle);
    arrange(low, depth + 1);
    arrange(&mut high[1..], depth + 1);
}

fn search(points: &[([f32; DIMENSIONS], u32)], depth: usize, point: &[f32; DIMENSIONS], best: &mut (f32, u32)) {
    if points.len() <= LEAF {
        for entry in points {
            consider(entry, point, best);
        }
        return;
    }
    let axis = depth % DIMENSIONS;
    let middle = points.len() / 2;
    consider(&points[middle], point, best);
    let gap = point[axis] - points[middle].0[axis];
    let (low, high) = (&points[..middle], &points[middle + 1..]);
    let (near, far) = if gap < 0.0 { (low, high) } else { (high, low) };
    search(near, depth + 1, point, best);
    if gap * gap <= best.0 {
        search(far, depth + 1, point, best);
    }
}

fn consider(entry: &([f32; DIMENSIONS], u32), point: &[f32; DIMENSIONS], best: &mut (f32, u32)) {
    let distance = entry.0.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
    if (distance, entry.1) < *best {
        *best = (distance, entry.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exhaustive(points: &[[f32; DIMENSIONS]], point: [f32; DIMENSIONS]) -> Option<u32> {
        let mut best = (f32::INFINITY, u32::MAX);
        for (entry, index) in points.iter().zip(0..) {
            consider(&(*entry, index), &point, &mut best);
        }
        (!points.is_empty()).then_some(best.1)
    }

    proptest! {
        #[test]
        fn it_finds_what_an_exhaustive_search_finds(
            points in proptest::collection::vec(proptest::array::uniform4(0_u8..6), 0..120),
            point in proptest::array::uniform4(0_u8..6),
        ) {
            let points: Vec<[f32; 4]> = points.iter().map(|point| point.map(f32::from)).collect();
            let point = point.map(f32::from);
            prop_assert_eq!(KdTree::new(&points).nearest(point), exhaustive(&points, point));
        }
    }
}
