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
            "INSERT INTO births (child_id, run_id, step, phase, chunk, operator, parameters, seed, replaces_id, notes)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::numeric, $9, $10) ON CONFLICT DO NOTHING",
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
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 0 {
            continue;
        }
        for (position, parent) in (0i16..).zip(&record.parents) {
            sqlx::query("INSERT INTO birth_parents (child_id, position, version_id) VALUES ($1, $2, $3)")
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
