//! The CVT archive (Vassiliades et al. 2018; PopuLoRA, section 10): a map of the problem space that keeps the best of
//! each cell. The terms are those of pyribs and QDax: descriptor, centroid, elite, coverage, qd_score.

use rand::Rng as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::contract::InsertionStatus;
use crate::seed::stream;
use crate::verify::Complexity;

/// Dimensions of a descriptor: AST depth, cyclomatic complexity, lines of code, variables.
pub const DIMENSIONS: usize = 4;

/// A point of the archive's space, before normalisation.
pub type Descriptor = [f32; DIMENSIONS];

/// The descriptor of a program.
pub fn descriptor(complexity: &Complexity) -> Descriptor {
    [complexity.ast_depth as f32, complexity.cyclomatic as f32, complexity.loc as f32, complexity.variables as f32]
}

/// The settings that define an archive. Runs with equal settings can be compared cell by cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArchiveConfig {
    /// Number of cells.
    #[schemars(range(min = 1, max = 65536))]
    pub cells: u32,
    /// Seed of the centroids, independent of the run's seed so that all runs share one map.
    pub seed: u64,
    /// Lowest and highest AST depth.
    pub ast_depth: [f32; 2],
    /// Lowest and highest cyclomatic complexity.
    pub cyclomatic: [f32; 2],
    /// Lowest and highest lines of code.
    pub loc: [f32; 2],
    /// Lowest and highest count of variables.
    pub variables: [f32; 2],
}

impl Default for ArchiveConfig {
    fn default() -> Self {
        Self {
            cells: 4096,
            seed: 0,
            ast_depth: [3.0, 25.0],
            cyclomatic: [1.0, 20.0],
            loc: [1.0, 50.0],
            variables: [0.0, 25.0],
        }
    }
}

impl ArchiveConfig {
    /// Bounds by dimension, with the names of their fields.
    pub fn bounds(&self) -> [(&'static str, [f32; 2]); DIMENSIONS] {
        [
            ("ast_depth", self.ast_depth),
            ("cyclomatic", self.cyclomatic),
            ("loc", self.loc),
            ("variables", self.variables),
        ]
    }

    /// The descriptor scaled to [0, 1] in each dimension; values outside the bounds are clamped.
    pub fn normalised(&self, descriptor: Descriptor) -> Descriptor {
        let mut point = descriptor;
        for (value, (_, [low, high])) in point.iter_mut().zip(self.bounds()) {
            *value = ((*value - low) / (high - low)).clamp(0.0, 1.0);
        }
        point
    }

    /// The centroids. Computing them takes up to a second and depends only on the seed and the number of cells, so
    /// those of a few configs are cached.
    pub fn centroids(&self) -> Arc<Centroids> {
        static MADE: Mutex<BTreeMap<(u64, u32), Arc<Centroids>>> = Mutex::new(BTreeMap::new());
        const KEPT: usize = 16;
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= KEPT && !made.contains_key(&(self.seed, self.cells)) {
            made.clear();
        }
        let centroids =
            made.entry((self.seed, self.cells)).or_insert_with(|| Arc::new(Centroids::new(self.seed, self.cells)));
        Arc::clone(centroids)
    }
}

/// The elites' objectives by cell: the part of the archive in a run's memory. The problem in each cell is in the
/// database rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Archive {
    /// Cell and objective, by cell.
    elites: Vec<(u32, f32)>,
}

impl Archive {
    /// Puts a problem with `objective` into `cell` if the cell is empty or its elite is worse.
    pub fn insert(&mut self, cell: u32, objective: f32) -> Option<InsertionStatus> {
        match self.elites.binary_search_by_key(&cell, |elite| elite.0) {
            Err(place) => {
                self.elites.insert(place, (cell, objective));
                Some(InsertionStatus::New)
            }
            Ok(place) if objective > self.elites[place].1 => {
                self.elites[place].1 = objective;
                Some(InsertionStatus::Improve)
            }
            Ok(_) => None,
        }
    }

    /// Cells with an elite.
    pub fn filled(&self) -> usize {
        self.elites.len()
    }

    /// Share of the `cells` with an elite.
    pub fn coverage(&self, cells: u32) -> f64 {
        self.filled() as f64 / f64::from(cells.max(1))
    }

    /// Sum of the elites' objectives, each counted from `offset`, the lowest possible objective.
    pub fn qd_score(&self, offset: f32) -> f64 {
        self.elites.iter().map(|(_, objective)| f64::from(objective - offset)).sum()
    }
}

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
                sum.iter_mut().zip(sample).for_each(|(sum, value)| *sum += f64::from(*value));
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_toy_archive_by_hand() {
        let mut archive = Archive::default();
        assert_eq!(archive.insert(2, 0.5), Some(InsertionStatus::New));
        assert_eq!(archive.insert(0, 0.0), Some(InsertionStatus::New));
        assert_eq!(archive.insert(2, 0.5), None, "an equal problem does not take the cell");
        assert_eq!(archive.insert(2, 0.875), Some(InsertionStatus::Improve));
        assert_eq!(archive.insert(2, 0.25), None);
        assert_eq!(archive.filled(), 2);
        assert_eq!(archive.coverage(4), 0.5);
        assert_eq!(archive.qd_score(0.0), 0.875);
        assert_eq!(archive.qd_score(-0.5), 1.875);
        let stored = serde_json::to_string(&archive).unwrap();
        assert_eq!(serde_json::from_str::<Archive>(&stored).unwrap(), archive);
    }

    #[test]
    fn descriptors_are_scaled_to_their_bounds() {
        let config = ArchiveConfig {
            ast_depth: [2.0, 12.0],
            cyclomatic: [1.0, 5.0],
            loc: [0.0, 10.0],
            variables: [0.0, 4.0],
            ..ArchiveConfig::default()
        };
        assert_eq!(config.normalised([7.0, 1.0, 20.0, 1.0]), [0.5, 0.0, 1.0, 0.25]);
    }

    #[test]
    fn equal_seeds_give_equal_maps() {
        let config = ArchiveConfig { cells: 64, ..ArchiveConfig::default() };
        let point = [0.3, 0.6, 0.1, 0.9];
        assert_eq!(config.centroids().nearest(point), Centroids::new(0, 64).nearest(point));
        let other = ArchiveConfig { seed: 1, ..config };
        assert!(!Arc::ptr_eq(&config_of(64), &other.centroids()));
    }

    fn config_of(cells: u32) -> Arc<Centroids> {
        ArchiveConfig { cells, ..ArchiveConfig::default() }.centroids()
    }

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
