//! Writing births.

use lyceum_core::recipe::BirthRecord;
use sqlx::PgConnection;

use crate::{
    Result,
    artifact::{self, Reason},
    steps::StepRef,
};

/// Writes births and their parents, and holds the parents' weights and optimizer state.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[BirthRecord]) -> Result<()> {
    for record in records {
        let inserted = sqlx::query(
            "INSERT INTO births (child_id, run_id, step, phase, chunk, operator, parameters, seed, replaces_id, notes, ancestor)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::numeric, $9, $10, (
                 SELECT called FROM (
                     SELECT 1 AS place, CASE WHEN v.run_id <> $2 THEN r.name || '/' || m.name || ' v' || v.ordinal END AS called
                     FROM adapter_versions v JOIN members m ON m.id = v.member_id JOIN runs r ON r.id = v.run_id WHERE v.id = $11
                     UNION ALL SELECT 2, 'adapter ' || name FROM adapters WHERE id = $11
                     UNION ALL SELECT 3, $11::uuid::text
                 ) ancestors ORDER BY place LIMIT 1
             )) ON CONFLICT DO NOTHING",
        )
        .bind(record.child.0)
        .bind(at.run.0)
        .bind(at.number())
        .bind(&record.source.phase)
        .bind(record.source.chunk.cast_signed())
        .bind(&record.operator)
        .bind(&record.parameters)
        .bind(record.seed.to_string())
        .bind(record.replaces.map(|member| member.0))
        .bind(&record.notes)
        .bind(record.parents.first().map(|parent| parent.0))
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 0 {
            continue;
        }
        for (position, parent) in (0i16..).zip(&record.parents) {
            // An imported adapter is no version, and one of another run may have been deleted since this run was created.
            sqlx::query(
                "INSERT INTO birth_parents (child_id, position, version_id)
                 SELECT $1, $2, id FROM adapter_versions WHERE id = $3",
            )
            .bind(record.child.0)
            .bind(position)
            .bind(parent.0)
            .execute(&mut *tx)
            .await?;
            let artifacts: Option<(String, Option<String>)> =
                sqlx::query_as("SELECT artifact, optimizer FROM adapter_versions WHERE id = $1")
                    .bind(parent.0)
                    .fetch_optional(&mut *tx)
                    .await?;
            let (weights, optimizer) = artifacts.unzip();
            for digest in [weights, optimizer.flatten()]
                .into_iter()
                .flatten()
                .filter_map(|digest| digest.parse().ok())
            {
                // The optimizer state of an early version may be gone.
                artifact::hold_if_there(tx, digest, at.run, Reason::Birth, record.child.0, None).await?;
            }
        }
    }
    Ok(())
}
