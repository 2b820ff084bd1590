//! Writing populations, members and deaths.

use lyceum_core::recipe::{DeathRecord, MemberRecord, PopulationRecord};
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use crate::{Result, steps::StepRef};

pub(crate) async fn write_populations(tx: &mut PgConnection, at: StepRef, records: &[PopulationRecord]) -> Result<()> {
    for record in records {
        sqlx::query(
            "INSERT INTO populations (id, run_id, name, base_model, lora) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(at.run.0)
        .bind(&record.name)
        .bind(Json(&record.base_model))
        .bind(Json(&record.lora))
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

/// Writes members, born in this step.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[MemberRecord]) -> Result<()> {
    for record in records {
        sqlx::query(
            "INSERT INTO members (id, run_id, population_id, name, roles, born_step) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING",
        )
        .bind(record.id.0)
        .bind(at.run.0)
        .bind(record.population.0)
        .bind(&record.name)
        .bind(&record.roles)
        .bind(at.number())
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}

/// Writes the deaths of members in this step, with their causes.
pub(crate) async fn write_deaths(tx: &mut PgConnection, at: StepRef, records: &[DeathRecord]) -> Result<()> {
    let (members, causes): (Vec<Uuid>, Vec<&str>) = records
        .iter()
        .map(|record| (record.member.0, record.cause.as_str()))
        .unzip();
    if !members.is_empty() {
        sqlx::query(
            "UPDATE members m SET died_step = $3, cause_of_death = d.cause
             FROM unnest($1::uuid[], $2::text[]) AS d (id, cause) WHERE m.id = d.id AND m.died_step IS NULL",
        )
        .bind(members)
        .bind(causes)
        .bind(at.number())
        .execute(tx)
        .await?;
    }
    Ok(())
}
