//! Writing versions.

use lyceum_core::recipe::VersionRecord;
use sqlx::PgConnection;

use crate::{
    Result,
    artifact::{self, Reason},
    steps::StepRef,
};

/// How many of a member's newest versions keep their optimizer state.
const KEPT_OPTIMIZERS: i32 = 2;

/// Writes versions and holds their artifacts. Optimizer state is held for the last few versions of a member.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[VersionRecord]) -> Result<()> {
    for record in records {
        let inserted = sqlx::query(
            "INSERT INTO adapter_versions (id, run_id, member_id, ordinal, step, artifact, optimizer, learning_rate)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(at.run.0)
        .bind(record.member.0)
        .bind(record.ordinal.cast_signed())
        .bind(at.number())
        .bind(record.artifact.to_string())
        .bind(record.optimizer.map(|digest| digest.to_string()))
        .bind(record.learning_rate)
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 0 {
            continue;
        }
        artifact::hold(tx, record.artifact, at.run, Reason::Version, record.id.0, None).await?;
        if let Some(optimizer) = record.optimizer {
            artifact::hold(tx, optimizer, at.run, Reason::Optimizer, record.id.0, None).await?;
        }
        sqlx::query(
            "DELETE FROM artifact_holds h USING adapter_versions v
             WHERE h.reason = 'optimizer' AND h.execution_id = $1 AND h.holder = v.id AND v.member_id = $2
             AND v.ordinal <= $3",
        )
        .bind(at.run.0)
        .bind(record.member.0)
        .bind(record.ordinal.cast_signed() - KEPT_OPTIMIZERS)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
