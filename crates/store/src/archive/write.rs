//! Writing insertions into the archive.

use lyceum_core::recipe::ArchiveInsertionRecord;
use sqlx::{PgConnection, QueryBuilder};

use crate::{Result, steps::StepRef};

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 5000;

/// Writes insertions and adds newly occupied cells to the run's count.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[ArchiveInsertionRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective) ",
        );
        insert.push_values(batch, |mut row, record| {
            row.push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.cell.cast_signed())
                .push_bind(record.problem.0)
                .push_bind(record.status)
                .push_bind(record.objective);
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING status)
             UPDATE runs SET cells = cells + (SELECT count(*) FROM inserted WHERE status = 'new') WHERE id = ",
        );
        insert.push_bind(at.run.0);
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
