//! How each student does against each teacher, by problem type.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::id::MemberId;
use crate::verify::ProblemKind;

/// A student's attempts at a teacher's problems, and how many solved theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solves {
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that solved their problem.
    pub solved: u64,
}

impl Solves {
    /// Share of attempts that solved; `None` without attempts.
    pub fn rate(&self) -> Option<f64> {
        (self.attempts > 0).then(|| self.solved as f64 / self.attempts as f64)
    }

    fn add(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.solved += other.solved;
    }
}

/// One cell of the cross-play matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CrossPlayKey {
    /// The proposer.
    pub teacher: MemberId,
    /// The solver.
    pub student: MemberId,
    pub kind: ProblemKind,
}

/// The cross-play matrix: counts by teacher, student and type. Serialised to JSON as a list of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(CrossPlayKey, Solves)>", into = "Vec<(CrossPlayKey, Solves)>")]
pub struct CrossPlay(BTreeMap<CrossPlayKey, Solves>);

impl CrossPlay {
    /// Adds attempts at one problem.
    pub fn record(&mut self, key: CrossPlayKey, solved: u64, attempts: u64) {
        self.0.entry(key).or_default().add(Solves { attempts, solved });
    }

    /// Every cell with attempts, by teacher, student and type.
    pub fn cells(&self) -> impl Iterator<Item = (&CrossPlayKey, &Solves)> {
        self.0.iter()
    }

    /// The sum over the cells for which `take` returns true: of a teacher, a student, a type or a pair.
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
    use uuid::Uuid;

    use super::*;

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
        let json = serde_json::to_value(&matrix).unwrap();
        assert_eq!(serde_json::from_value::<CrossPlay>(json).unwrap(), matrix);
    }
}
