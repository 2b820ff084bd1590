//! Datasets that ship with Lyceum (`configs/datasets`), imported when a run or an evaluation first needs them.

use lyceum_core::benchmark::{self, reader};
use lyceum_core::dataset::Purpose;
use lyceum_core::id::DatasetId;
use lyceum_store::StoreError;
use lyceum_store::datasets::{self, Dataset, NewDataset};
use serde::ser::Error as _;
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};
use uuid::Uuid;

/// A dataset that ships with Lyceum.
pub(crate) struct ShippedDataset {
    name: &'static str,
    purpose: Purpose,
    suite: Option<&'static str>,
    /// Its rows, one per line.
    lines: &'static str,
}

static SHIPPED: [ShippedDataset; 6] = [
    ShippedDataset {
        name: "seedling-training",
        purpose: Purpose::Training,
        suite: None,
        lines: include_str!("../../../../configs/datasets/seedling-training.jsonl"),
    },
    ShippedDataset {
        name: "held-out-seedling",
        purpose: Purpose::Benchmark,
        suite: Some("held-out-seedling"),
        lines: include_str!("../../../../configs/datasets/held-out-seedling.jsonl"),
    },
    ShippedDataset {
        name: "held-out-outputs",
        purpose: Purpose::Benchmark,
        suite: Some("held-out-outputs"),
        lines: include_str!("../../../../configs/datasets/held-out-outputs.jsonl"),
    },
    ShippedDataset {
        name: "seedling-goalposts",
        purpose: Purpose::Goalposts,
        suite: None,
        lines: include_str!("../../../../configs/datasets/seedling-goalposts.jsonl"),
    },
    ShippedDataset {
        name: "seedling-math-training",
        purpose: Purpose::Training,
        suite: None,
        lines: include_str!("../../../../configs/datasets/seedling-math-training.jsonl"),
    },
    ShippedDataset {
        name: "held-out-seedling-math",
        purpose: Purpose::Benchmark,
        suite: Some("held-out-seedling-math"),
        lines: include_str!("../../../../configs/datasets/held-out-seedling-math.jsonl"),
    },
];

impl ShippedDataset {
    /// The one called `name`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// The one with this id once it is imported.
    pub(crate) fn with_id(id: DatasetId) -> Option<&'static Self> {
        SHIPPED.iter().find(|shipped| shipped.id() == id)
    }

    /// The rows of a benchmark suite.
    pub(crate) fn of_suite(suite: &str) -> Option<&'static Self> {
        SHIPPED.iter().find(|shipped| shipped.suite == Some(suite))
    }

    /// Its rows as they are imported: those of a suite in a form of its own as problems.
    fn rows(&self) -> serde_json::Result<Vec<Value>> {
        let suite = self.suite.and_then(|name| benchmark::suite(name).ok());
        match suite.filter(|suite| !suite.format.is_self_play()) {
            Some(suite) => {
                let read = reader::read(suite, self.lines.as_bytes(), &reader::Window::default());
                let read = read.map_err(serde_json::Error::custom)?;
                read.rows.iter().map(serde_json::to_value).collect()
            }
            None => self.lines.lines().map(serde_json::from_str).collect(),
        }
    }

    /// A hash of its name and rows, so a dry run names the same dataset as the run.
    fn id(&self) -> DatasetId {
        let text = format!("{}\n{}", self.name, self.lines);
        DatasetId(Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()))
    }

    /// Imports it, unless another request has done so meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if a dataset with other rows has its name.
    pub(crate) async fn import(&self, db: &mut PgConnection) -> Result<Dataset, StoreError> {
        let rows = self.rows().map_err(|source| StoreError::Json { what: "shipped row", source })?;
        let new = NewDataset {
            name: self.name,
            purpose: self.purpose,
            suite: self.suite,
            source: "ships with Lyceum",
            revision: None,
            rows: &rows,
        };
        let mut tx = db.begin().await?;
        match datasets::create_as(&mut tx, self.id(), &new).await {
            Ok(made) => {
                tx.commit().await?;
                Ok(made)
            }
            Err(taken @ StoreError::Taken { .. }) => {
                let there = datasets::find(&mut *tx, self.id()).await;
                there.map_err(|_| taken)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lyceum_core::benchmark::suite;
    use lyceum_core::dataset::{RowCheck, fingerprints};
    use std::collections::HashSet;

    #[test]
    fn shipped_rows_can_be_imported_and_training_and_held_out_rows_do_not_overlap() {
        let mut trained: HashSet<[u8; 32]> = HashSet::new();
        let mut held_out: HashSet<[u8; 32]> = HashSet::new();
        for shipped in &SHIPPED {
            let suite = shipped.suite.map(|name| suite(name).unwrap());
            let mut check = RowCheck::new(shipped.purpose, suite);
            let mut questions = HashSet::new();
            let mut about = HashSet::new();
            for (place, row) in shipped.rows().unwrap().into_iter().enumerate() {
                assert_eq!(check.check(place, &row), Ok(()), "{}", shipped.name);
                let hashes = fingerprints(&row);
                assert!(questions.insert(hashes.question), "row {place} of {} repeats a question", shipped.name);
                about.extend(hashes.program);
            }
            // What a row is about: its program, or else its question.
            let about = if about.is_empty() { questions } else { about };
            match shipped.purpose {
                Purpose::Training => trained.extend(about),
                _ => held_out.extend(about),
            }
            assert!(ShippedDataset::with_id(shipped.id()).is_some_and(|found| found.name == shipped.name));
        }
        assert!(trained.is_disjoint(&held_out));
    }
}
