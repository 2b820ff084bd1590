//! How each student fares against each teacher, by type of problem.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::{id::MemberId, verify::ProblemKind, wilson::Interval};

/// Attempts and solutions of a teacher's problems by a student.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solves {
    /// Attempts made.
    pub attempts: u64,
    /// Those that solved their problem.
    pub solved: u64,
}

impl Solves {
    /// Share of the attempts that solved; none without attempts.
    pub fn rate(&self) -> Option<f64> {
        (self.attempts > 0).then(|| self.solved as f64 / self.attempts as f64)
    }

    /// The 95 % interval around the rate (Wilson 1927); none without attempts. Attempts at one problem are not independent, so
    /// it is the least spread that there can be.
    pub fn interval(&self) -> Option<Interval> {
        Interval::wilson(self.solved, self.attempts, Interval::Z_95)
    }

    fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.solved += other.solved;
    }
}

/// One cell of the cross-play matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CrossPlayKey {
    /// Who proposed.
    pub teacher: MemberId,
    /// Who solved.
    pub student: MemberId,
    /// What was asked.
    pub kind: ProblemKind,
}

/// The cross-play matrix: counts by teacher, student and type. As JSON it is a list of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(CrossPlayKey, Solves)>", into = "Vec<(CrossPlayKey, Solves)>")]
pub struct CrossPlay(BTreeMap<CrossPlayKey, Solves>);

impl CrossPlay {
    /// Counts attempts at one problem.
    pub fn record(&mut self, key: CrossPlayKey, solved: u64, attempts: u64) {
        self.0.entry(key).or_default().add(Solves { attempts, solved });
    }

    /// Every cell that has attempts, by teacher, student and type.
    pub fn cells(&self) -> impl Iterator<Item = (&CrossPlayKey, &Solves)> {
        self.0.iter()
    }

    /// The sum over the cells that `take`s: of a teacher, of a student, of a type, or of a pair.
    pub fn sum(&self, take: impl Fn(&CrossPlayKey) -> bool) -> Solves {
        let mut sum = Solves::default();
        for (_, solves) in self.0.iter().filter(|(key, _)| take(key)) {
            sum.add(*solves);
        }
        sum
    }
}

impl From<Vec<(CrossPlayKey, Solves)>> for CrossPlay {
    fn from(rows: Vec<(CrossPlayKey, Solves)>) -> Self {
        Self(rows.into_iter().collect())
    }
}

impl From<CrossPlay> for Vec<(CrossPlayKey, Solves)> {
    fn from(matrix: CrossPlay) -> Self {
        matrix.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn cells_add_up_to_rows_and_columns_and_survive_their_json() {
        let [first, second] = [1, 2].map(|id| MemberId(Uuid::from_u128(id)));
        let key = |teacher, student, kind| CrossPlayKey { teacher, student, kind };
        let mut matrix = CrossPlay::default();
        matrix.record(key(first, second, ProblemKind::CodeO), 3, 8);
        matrix.record(key(first, second, ProblemKind::CodeO), 1, 8);
        matrix.record(key(first, second, ProblemKind::CodeI), 8, 8);
        matrix.record(key(second, first, ProblemKind::CodeF), 0, 8);
        assert_eq!(matrix.cells().count(), 3);
        assert_eq!(matrix.sum(|key| key.teacher == first).rate(), Some(0.5));
        assert_eq!(matrix.sum(|key| key.kind == ProblemKind::CodeO).rate(), Some(0.25));
        assert_eq!(matrix.sum(|key| key.student == first).interval().unwrap().low, 0.0);
        assert_eq!(matrix.sum(|key| key.kind == ProblemKind::Math).interval(), None);
        let json = serde_json::to_value(&matrix).unwrap();
        assert_eq!(serde_json::from_value::<CrossPlay>(json).unwrap(), matrix);
    }
}
