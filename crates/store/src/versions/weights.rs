//! Subjects of evaluations: exact weights with the names of member and run.

use lyceum_core::artifact::Digest;
use lyceum_core::id::{ExecutionId, MemberId, VersionId};
use lyceum_core::recipe::Role;
use lyceum_core::work::{AdapterRef, BaseModel, LoraShape};
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::{Result, StoreError};

/// Weights of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    pub run: ExecutionId,
    pub member: MemberId,
    /// The member's name within the run.
    pub name: String,
    pub roles: Vec<Role>,
    /// The step that made the weights.
    pub made_in: u32,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The shape of the adapter.
    pub lora: LoraShape,
    /// The weights.
    pub adapter: AdapterRef,
}

#[derive(FromRow)]
struct Row {
    version: Uuid,
    artifact: String,
    step: i32,
    run_id: Uuid,
    member: Uuid,
    name: String,
    roles: Vec<Role>,
    base_model: Json<BaseModel>,
    lora: Json<LoraShape>,
}

const SELECT: &str = "v.id AS version, v.artifact, v.step, v.run_id, m.id AS member, m.name, m.roles, p.base_model,
    p.lora
    FROM adapter_versions v JOIN members m ON m.id = v.member_id JOIN populations p ON p.id = m.population_id";

/// The weights of these versions, in this order.
///
/// # Errors
/// [`StoreError::NotFound`] for a missing version.
pub async fn of_versions(db: &mut PgConnection, versions: &[VersionId]) -> Result<Vec<Weights>> {
    let ids: Vec<Uuid> = versions.iter().map(|version| version.0).collect();
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!("SELECT {SELECT} WHERE v.id = ANY($1)")))
        .bind(&ids)
        .fetch_all(db)
        .await?;
    let found = |id: &Uuid| rows.iter().find(|row| row.version == *id);
    ids.iter().map(|id| found(id).ok_or_else(|| StoreError::not_found("adapter version", id))?.weights()).collect()
}

/// The members of a run that were alive after `step` steps, each with its weights at that time; without a step, those
/// alive now. Ordered by birth.
pub async fn of_run(db: &mut PgConnection, run: ExecutionId, step: Option<u32>) -> Result<Vec<Weights>> {
    let query = format!(
        "SELECT * FROM (SELECT DISTINCT ON (m.id) m.seq, {SELECT}
         WHERE m.run_id = $1
             AND CASE WHEN $2::integer IS NULL THEN m.died_step IS NULL ELSE v.step < $2 AND coalesce(m.died_step >= $2, true) END
         ORDER BY m.id, v.ordinal DESC) newest ORDER BY seq"
    );
    let rows: Vec<Row> =
        sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0).bind(step.map(u32::cast_signed)).fetch_all(db).await?;
    rows.iter().map(Row::weights).collect()
}

/// The founders of a run, each with its first weights, before any update. Ordered by birth.
pub async fn first_of_run(db: &mut PgConnection, run: ExecutionId) -> Result<Vec<Weights>> {
    let query = format!("SELECT {SELECT} WHERE m.run_id = $1 AND m.born_step = 0 AND v.ordinal = 0 ORDER BY m.seq");
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0).fetch_all(db).await?;
    rows.iter().map(Row::weights).collect()
}

/// Those of `weights` whose bytes have been deleted.
pub async fn removed(db: &mut PgConnection, weights: &[Digest]) -> Result<Vec<Digest>> {
    let names: Vec<String> = weights.iter().map(ToString::to_string).collect();
    let removed: Vec<String> =
        sqlx::query_scalar("SELECT digest FROM artifacts WHERE digest = ANY($1) AND removed_at IS NOT NULL")
            .bind(&names)
            .fetch_all(db)
            .await?;
    Ok(removed.iter().filter_map(|digest| digest.parse().ok()).collect())
}

/// The base models of a run's populations, by name of the population.
pub async fn bases_of_run(db: &mut PgConnection, run: ExecutionId) -> Result<Vec<BaseModel>> {
    let bases: Vec<Json<BaseModel>> = sqlx::query_scalar(
        "SELECT population -> 'base_model' FROM executions, jsonb_each(config -> 'populations') AS each (name, population)
         WHERE id = $1 ORDER BY name",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?;
    Ok(bases.into_iter().map(|base| base.0).collect())
}

/// These members of a run, dead or alive, each with its weights after `step` steps; those without any are omitted.
/// Ordered by birth.
pub async fn of_members(
    db: &mut PgConnection,
    run: ExecutionId,
    step: u32,
    members: &[MemberId],
) -> Result<Vec<Weights>> {
    let query = format!(
        "SELECT * FROM (SELECT DISTINCT ON (m.id) m.seq, {SELECT}
         WHERE m.run_id = $1 AND v.step < $2 AND m.id = ANY($3) ORDER BY m.id, v.ordinal DESC) newest ORDER BY seq"
    );
    let ids: Vec<Uuid> = members.iter().map(|member| member.0).collect();
    let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(run.0)
        .bind(step.cast_signed())
        .bind(&ids)
        .fetch_all(db)
        .await?;
    rows.iter().map(Row::weights).collect()
}

impl Row {
    fn weights(&self) -> Result<Weights> {
        let artifact: Digest = self.artifact.parse().map_err(|_| StoreError::not_found("artifact", &self.artifact))?;
        Ok(Weights {
            run: ExecutionId(self.run_id),
            member: MemberId(self.member),
            name: self.name.clone(),
            roles: self.roles.clone(),
            made_in: self.step.cast_unsigned(),
            base_model: self.base_model.0.clone(),
            lora: self.lora.0.clone(),
            adapter: AdapterRef { version: VersionId(self.version), artifact, optimizer: None },
        })
    }
}
