//! Rows that a plan writes, one file a group of tables. Every statement writes a whole batch, and writing a batch again
//! changes nothing.

mod archive;
mod attempts;
pub(crate) mod benchmark;
mod lineage;
mod matchups;
mod metrics;
mod population;
mod problems;

use lyceum_core::{id::ExecutionId, recipe::Records};
use sqlx::PgConnection;

use crate::Result;

pub(crate) use attempts::attempts;

/// Where the records of a plan belong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The run.
    pub(crate) run: ExecutionId,
    /// The step.
    pub(crate) step: u32,
}

impl Place {
    fn step(self) -> i32 {
        self.step.cast_signed()
    }
}

/// Writes all records, in the order in which they refer to one another.
pub(crate) async fn write(tx: &mut PgConnection, place: Place, records: &Records) -> Result<()> {
    population::populations(tx, place, &records.populations).await?;
    population::members(tx, place, &records.members).await?;
    population::versions(tx, place, &records.versions).await?;
    lineage::births(tx, place, &records.births).await?;
    lineage::deaths(tx, place, &records.deaths).await?;
    problems::problems(tx, place, &records.problems).await?;
    attempts(tx, place, &records.attempts).await?;
    problems::outcomes(tx, &records.outcomes).await?;
    matchups::matchups(tx, place, &records.matchups).await?;
    matchups::ratings(tx, place, &records.ratings).await?;
    archive::insertions(tx, place, &records.insertions).await?;
    metrics::metrics(tx, place, &records.metrics).await
}
