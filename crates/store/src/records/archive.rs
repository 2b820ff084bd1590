//! What entered the archive.

use lyceum_core::recipe::ArchiveInsertionRecord;
use sqlx::{PgConnection, QueryBuilder};

use super::Place;
use crate::Result;

/// Rows of a statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 5000;

pub(super) async fn insertions(tx: &mut PgConnection, place: Place, records: &[ArchiveInsertionRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective) ",
        );
        insert.push_values(batch, |mut row, record| {
            row.push_bind(place.run.0)
                .push_bind(place.step())
                .push_bind(record.cell.cast_signed())
                .push_bind(record.problem.0)
                .push_bind(record.status.name())
                .push_bind(record.objective);
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING status)
             UPDATE runs SET cells = cells + (SELECT count(*) FROM inserted WHERE status = 'new') WHERE id = ",
        );
        insert.push_bind(place.run.0);
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
