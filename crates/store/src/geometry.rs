//! Geometry of members' updates.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::GeometryRecord;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::steps::StepRef;

/// A version by itself.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct MeasuredVersion {
    /// The step at whose end it was measured.
    pub step: i32,
    /// The member.
    pub member_id: Uuid,
    /// Its name.
    pub member: String,
    /// The version.
    pub version_id: Uuid,
    /// Its ordinal.
    pub ordinal: i32,
    /// The Frobenius norm of its update.
    pub norm: f64,
    /// The effective rank of its update (Roy and Vetterli 2007), mean over modules; null if the update is zero.
    pub effective_rank: Option<f64>,
}

/// Two versions that were measured together.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct MeasuredPair {
    /// One version.
    pub first_id: Uuid,
    /// The other.
    pub second_id: Uuid,
    /// The cosine of their updates; null if one is zero.
    pub cosine: Option<f64>,
    /// The Frobenius norm of the difference of their updates.
    pub distance: f64,
}

/// Writes measurements.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[GeometryRecord]) -> Result<()> {
    for record in records {
        sqlx::query(
            "INSERT INTO geometry (run_id, step, member_id, version_id, norm, effective_rank)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(at.run.0)
        .bind(at.number())
        .bind(record.member.0)
        .bind(record.of.version.0)
        .bind(record.of.norm)
        .bind(record.of.effective_rank)
        .execute(&mut *tx)
        .await?;
        for pair in &record.pairs {
            sqlx::query(
                "INSERT INTO geometry_pairs (run_id, step, first_id, second_id, cosine, distance)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            )
            .bind(at.run.0)
            .bind(at.number())
            .bind(pair.first.0)
            .bind(pair.second.0)
            .bind(pair.cosine)
            .bind(pair.distance)
            .execute(&mut *tx)
            .await?;
        }
    }
    Ok(())
}

/// The newest `limit` measured versions of `run`, oldest first.
pub async fn versions(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<MeasuredVersion>> {
    Ok(sqlx::query_as(
        "SELECT * FROM (SELECT g.step, g.member_id, m.name AS member, g.version_id, v.ordinal, g.norm, g.effective_rank
         FROM geometry g JOIN members m ON m.id = g.member_id JOIN adapter_versions v ON v.id = g.version_id
         WHERE g.run_id = $1 ORDER BY g.step DESC, m.seq DESC LIMIT $2) newest ORDER BY step, member",
    )
    .bind(run.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}

/// The pairs of `run` that were measured at the end of `step`.
pub async fn pairs(db: &PgPool, run: ExecutionId, step: i32) -> Result<Vec<MeasuredPair>> {
    Ok(sqlx::query_as(
        "SELECT first_id, second_id, cosine, distance FROM geometry_pairs WHERE run_id = $1 AND step = $2
         ORDER BY first_id, second_id",
    )
    .bind(run.0)
    .bind(step)
    .fetch_all(db)
    .await?)
}
