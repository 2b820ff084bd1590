//! A centroidal Voronoi tessellation of the unit cube.

use rand::Rng as _;

use super::{DIMENSIONS, KdTree};
use crate::seed::stream;

/// k-means samples per centroid.
const SAMPLES: usize = 10;
/// Rounds of Lloyd's algorithm.
const ROUNDS: u64 = 10;

/// Centroids spread evenly over [0, 1]⁴: k-means over uniform samples (Vassiliades et al. 2018, algorithm 1).
#[derive(Clone, Debug)]
pub struct Centroids {
    points: Vec<[f32; DIMENSIONS]>,
    tree: KdTree,
}

impl Centroids {
    /// Draws `cells` centroids from `seed`.
    pub fn new(seed: u64, cells: u32) -> Self {
        let mut random = stream(seed, "archive/centroids", u64::from(cells));
        let samples: Vec<[f32; DIMENSIONS]> = (0..cells as usize * SAMPLES).map(|_| random.random()).collect();
        let mut points: Vec<_> = samples.iter().copied().take(cells as usize).collect();
        let mut tree = KdTree::new(&points);
        for _ in 0..ROUNDS {
            let mut sums = vec![([0.0_f64; DIMENSIONS], 0_u32); points.len()];
            for sample in &samples {
                let Some(nearest) = tree.nearest(*sample) else { continue };
                let (sum, count) = &mut sums[nearest as usize];
                sum.iter_mut()
                    .zip(sample)
                    .for_each(|(sum, value)| *sum += f64::from(*value));
                *count += 1;
            }
            for (point, (sum, count)) in points.iter_mut().zip(&sums).filter(|(_, (_, count))| *count > 0) {
                *point = sum.map(|sum| (sum / f64::from(*count)) as f32);
            }
            tree = KdTree::new(&points);
        }
        Self { points, tree }
    }

    /// The cell of a normalised descriptor; 0 if there are no cells.
    pub fn nearest(&self, point: [f32; DIMENSIONS]) -> u32 {
        self.tree.nearest(point).unwrap_or(0)
    }

    /// The centroids by cell.
    pub fn points(&self) -> &[[f32; DIMENSIONS]] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_of_similar_size() {
        let cells = 64;
        let centroids = Centroids::new(7, cells);
        assert_eq!(centroids.points().len(), 64);
        let mut random = stream(8, "test", 0);
        let mut hits = vec![0_u32; cells as usize];
        for _ in 0..6400 {
            hits[centroids.nearest(random.random()) as usize] += 1;
        }
        // Equal cells would get 100 each; without k-means some cells get fewer than 20.
        assert!(hits.iter().all(|&count| (35..250).contains(&count)), "{hits:?}");
    }
}
