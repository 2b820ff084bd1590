//! A majority vote over clustered answers.

/// The outcome of a vote. An answer without a cluster votes for nothing, but counts among the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// The largest cluster; the first of several.
    pub winner: u32,
    /// The index of its first answer, whose text is the label.
    pub label: usize,
    /// Answers in it.
    pub count: u32,
    /// Answers requested.
    pub of: u32,
}

impl Vote {
    /// The vote of answers with these `clusters`, in the order of the samples; `None` if no answer has one.
    pub fn of(clusters: &[Option<u32>]) -> Option<Self> {
        let count = |cluster: u32| clusters.iter().filter(|of| **of == Some(cluster)).count();
        let first = clusters.iter().enumerate().filter_map(|(at, cluster)| Some((at, (*cluster)?)));
        // `max_by_key` takes the last of equals, so they are compared from behind.
        let (label, winner) = first.rev().max_by_key(|(_, cluster)| count(*cluster))?;
        Some(Self { winner, label, count: count(winner) as u32, of: clusters.len() as u32 })
    }

    /// The share of all answers that are in the largest cluster.
    pub fn share(self) -> f32 {
        self.count as f32 / self.of as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cluster_wins_and_the_first_of_equals() {
        let vote =
            |clusters: &[Option<u32>]| Vote::of(clusters).map(|vote| (vote.winner, vote.label, vote.count, vote.of));
        assert_eq!(vote(&[Some(0), Some(1), Some(1)]), Some((1, 1, 2, 3)));
        assert_eq!(vote(&[Some(0), Some(1), Some(1), Some(0)]), Some((0, 0, 2, 4)));
        assert_eq!(vote(&[None, Some(0), None, None]), Some((0, 1, 1, 4)));
        assert_eq!(vote(&[None, None]), None);
        assert_eq!(vote(&[]), None);
        assert_eq!(Vote::of(&[Some(0), None, Some(0), Some(1)]).map(Vote::share), Some(0.5));
    }
}
