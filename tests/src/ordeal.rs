//! A run to its end on the scripted programs: undisturbed, or with its worker and server killed in turn.

use anyhow::Result;
use lyceum_core::id::ExecutionId;
use lyceum_core::seed::stream;
use rand::Rng as _;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

use crate::house::{House, WorkerArguments};

const RUN: u128 = 1;
const KILLS: u64 = 10;

/// The scripted programs, which only a test of this package can name.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// `scripted-server`.
    pub server: &'static str,
    /// `scripted-worker`.
    pub worker: &'static str,
    /// The rows that a run has as its `dataset`; none for other runs.
    pub rows: &'static [Row],
    /// The messages of the functions that a run has as its `goalposts`; none for other runs.
    pub goalposts: &'static [&'static str],
}

/// A row of a dataset.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// A question and its answer.
    Mathematics(&'static str, &'static str),
    /// What a function `f` is to do, and the test of it.
    Code(&'static str, &'static str),
}

impl Row {
    fn value(&self) -> Value {
        let (question, oracle) = match self {
            Self::Mathematics(question, gold) => (question, json!({"type": "math", "gold": gold})),
            Self::Code(question, test) => (question, json!({"type": "script", "entry_point": "f", "test": test})),
        };
        json!({"task_id": question, "question": question, "oracle": oracle})
    }
}

impl Programs {
    /// The run that nothing happens to.
    pub async fn undisturbed(self, document: &Value) -> Result<(House, ExecutionId)> {
        let house = House::new().await?;
        let _server = house.server(self.server)?;
        let arguments = WorkerArguments { pause: Duration::ZERO, ..WorkerArguments::default() };
        let _worker = house.worker(self.worker, &arguments)?;
        let run = self.begin(&house, document).await?;
        house.until_completed(run).await?;
        Ok((house, run))
    }

    /// The run with ten kills, between which the diary grows by numbers of entries drawn from `entries`.
    pub async fn killed_ten_times(self, document: &Value, entries: Range<i64>) -> Result<(House, ExecutionId)> {
        let house = House::new().await?;
        let mut server = house.server(self.server)?;
        let mut worker = house.worker(self.worker, &WorkerArguments::default())?;
        let run = self.begin(&house, document).await?;
        let mut target = 0;
        for kill in 0..KILLS {
            target += stream(3, "kill", kill).random_range(entries.clone());
            house.until_entries(target).await?;
            if kill % 2 == 0 {
                worker.kill()?;
                house.bury().await?;
                worker = house.worker(self.worker, &WorkerArguments::default())?;
            } else {
                server.kill()?;
                // Killed twice while it plans, it would set the run aside, which is tested elsewhere.
                sqlx::query("DELETE FROM plannings").execute(house.pool()).await?;
                server = house.server(self.server)?;
            }
        }
        house.until_completed(run).await?;
        drop((server, worker));
        Ok((house, run))
    }

    async fn begin(self, house: &House, document: &Value) -> Result<ExecutionId> {
        let mut document = document.clone();
        if !self.rows.is_empty() {
            let rows: Vec<Value> = self.rows.iter().map(Row::value).collect();
            let dataset = house.training_set(&rows).await?;
            document["parameters"]["dataset"] = json!({"id": dataset, "rows": rows.len()});
        }
        if !self.goalposts.is_empty() {
            let row = |message: &&str| {
                let pairs = [["1", "1"], ["2", "2"], ["3", "3"]];
                json!({"task_id": message, "type": "code_f", "program": "def f(a):\n return a", "message": message, "pairs": pairs})
            };
            let rows: Vec<Value> = self.goalposts.iter().map(row).collect();
            let dataset = house.goalposts(&rows).await?;
            document["parameters"]["goalposts"] = json!({"id": dataset, "rows": rows.len()});
        }
        house.begin_document(RUN, &document).await
    }
}
