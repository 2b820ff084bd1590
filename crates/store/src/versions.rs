//! Versions of members' weights.

pub mod weights;

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::VersionRecord;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool};
use uuid::Uuid;

use crate::artifact::{self, Reason};
use crate::steps::StepRef;
use crate::{Result, StoreError};

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

/// Weights of a member.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Version {
    /// The version.
    pub id: Uuid,
    /// 0 at birth, incremented by each update.
    pub ordinal: i32,
    /// The step that made it.
    pub step: i32,
    /// Digest of its PEFT folder.
    pub artifact: String,
    /// The folder's size in bytes.
    pub bytes: i64,
    /// Whether the folder has been removed.
    pub removed: bool,
    /// The learning rate of a member that has its own.
    pub learning_rate: Option<f64>,
    pub created_at: DateTime<Utc>,
}

const SELECT: &str =
    "SELECT v.id, v.ordinal, v.step, v.artifact, a.bytes, a.removed_at IS NOT NULL AS removed, v.learning_rate,
    v.created_at
    FROM adapter_versions v JOIN artifacts a ON a.digest = v.artifact WHERE v.run_id = $1 AND v.member_id = $2";

/// The newest `limit` versions of `member`, newest first.
pub async fn newest(db: &PgPool, run: ExecutionId, member: MemberId, limit: u32) -> Result<Vec<Version>> {
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} ORDER BY v.ordinal DESC LIMIT $3")))
        .bind(run.0)
        .bind(member.0)
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?)
}

/// One version of `member`, or its newest.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, run: ExecutionId, member: MemberId, ordinal: Option<u32>) -> Result<Version> {
    let statement = format!("{SELECT} AND ($3::int IS NULL OR v.ordinal = $3) ORDER BY v.ordinal DESC LIMIT 1");
    let version = sqlx::query_as(sqlx::AssertSqlSafe(statement))
        .bind(run.0)
        .bind(member.0)
        .bind(ordinal.map(u32::cast_signed))
        .fetch_optional(db)
        .await?;
    version.ok_or_else(|| match ordinal {
        Some(ordinal) => StoreError::not_found("version of this member with ordinal", ordinal),
        None => StoreError::not_found("version of the member", member),
    })
}
