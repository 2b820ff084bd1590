//! Populations, members and their versions.

use lyceum_core::recipe::{MemberRecord, PopulationRecord, Role, VersionRecord};
use sqlx::{PgConnection, types::Json};

use super::Place;
use crate::{
    Result,
    artifact::{self, Reason},
};

pub(super) async fn populations(tx: &mut PgConnection, place: Place, records: &[PopulationRecord]) -> Result<()> {
    for record in records {
        sqlx::query(
            "INSERT INTO populations (id, run_id, name, base_model, lora) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(place.run.0)
        .bind(&record.name)
        .bind(Json(&record.base_model))
        .bind(Json(&record.lora))
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

pub(super) async fn members(tx: &mut PgConnection, place: Place, records: &[MemberRecord]) -> Result<()> {
    for record in records {
        let roles: Vec<&str> = record.roles.iter().copied().map(Role::name).collect();
        sqlx::query(
            "INSERT INTO members (id, run_id, population_id, name, roles, born_step) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(place.run.0)
        .bind(record.population.0)
        .bind(&record.name)
        .bind(roles)
        .bind(place.step())
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

/// Versions that keep their optimizer state, counted from the newest of a member.
const KEPT_OPTIMIZERS: i32 = 2;

pub(super) async fn versions(tx: &mut PgConnection, place: Place, records: &[VersionRecord]) -> Result<()> {
    for record in records {
        let inserted = sqlx::query(
            "INSERT INTO adapter_versions (id, run_id, member_id, ordinal, step, artifact, optimizer)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(place.run.0)
        .bind(record.member.0)
        .bind(record.ordinal.cast_signed())
        .bind(place.step())
        .bind(record.artifact.to_string())
        .bind(record.optimizer.map(|digest| digest.to_string()))
        .execute(&mut *tx)
        .await?;
        if inserted.rows_affected() == 0 {
            continue;
        }
        artifact::hold(tx, record.artifact, place.run, Reason::Version, record.id.0, None).await?;
        if let Some(optimizer) = record.optimizer {
            artifact::hold(tx, optimizer, place.run, Reason::Optimizer, record.id.0, None).await?;
        }
        sqlx::query(
            "DELETE FROM artifact_holds h USING adapter_versions v
             WHERE h.reason = 'optimizer' AND h.execution_id = $1 AND h.holder = v.id AND v.member_id = $2
             AND v.ordinal <= $3",
        )
        .bind(place.run.0)
        .bind(record.member.0)
        .bind(record.ordinal.cast_signed() - KEPT_OPTIMIZERS)
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
