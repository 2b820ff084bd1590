//! Writing the records of a plan, in batches. Writing a batch again changes nothing.

use lyceum_core::recipe::Records;
use sqlx::PgConnection;

use crate::{
    Result, archive, attempts, births, dataset_rows, geometry, held_out, matchups, members, metrics, problems, ratings,
    steps::StepRef, versions,
};

/// Writes all records, each after those it refers to.
pub(super) async fn write(tx: &mut PgConnection, at: StepRef, records: &Records) -> Result<()> {
    members::write_populations(tx, at, &records.populations).await?;
    members::write(tx, at, &records.members).await?;
    versions::write(tx, at, &records.versions).await?;
    births::write(tx, at, &records.births).await?;
    geometry::write(tx, at, &records.geometry).await?;
    members::write_deaths(tx, at, &records.deaths).await?;
    problems::write(tx, at, &records.problems).await?;
    attempts::write(tx, at, None, &records.attempts).await?;
    problems::write_outcomes(tx, &records.outcomes).await?;
    matchups::write(tx, at, &records.matchups).await?;
    ratings::write(tx, at, &records.ratings).await?;
    archive::write(tx, at, &records.insertions).await?;
    dataset_rows::write(tx, at, &records.row_answers).await?;
    held_out::write(tx, at, &records.held_out).await?;
    metrics::write(tx, at, &records.metrics).await
}
