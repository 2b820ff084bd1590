//! Members of populations, and their relations.

use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::{DeathRecord, MemberRecord, PopulationRecord, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::births::Parent;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::ratings::Rating;
use crate::steps::StepRef;
use crate::{Result, StoreError};

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
    let (members, causes): (Vec<Uuid>, Vec<&str>) =
        records.iter().map(|record| (record.member.0, record.cause.as_str())).unzip();
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

/// A member.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Member {
    /// The member.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its population's name.
    pub population: String,
    /// Its name within the run.
    pub name: String,
    /// Its roles.
    #[schema(value_type = Vec<String>)]
    pub roles: Vec<Role>,
    /// The step of its birth.
    pub born_step: i32,
    /// The step of its death.
    pub died_step: Option<i32>,
    /// Why it died.
    pub cause_of_death: Option<String>,
    /// Its newest rating in each role.
    #[schema(value_type = Vec<Rating>)]
    pub ratings: Json<Vec<Rating>>,
    /// Its newest weights.
    #[schema(value_type = Option<LatestVersion>)]
    pub version: Option<Json<LatestVersion>>,
}

/// The newest weights of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LatestVersion {
    /// The version.
    pub id: Uuid,
    /// 0 at birth, incremented by each update.
    pub ordinal: i32,
    /// The step that made it.
    pub step: i32,
    /// Digest of its PEFT folder.
    pub artifact: String,
    /// The member's own learning rate; null if it learns at the config's.
    pub learning_rate: Option<f64>,
}

/// Selects members.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct MemberFilter {
    /// `true` for living members, `false` for dead ones.
    pub alive: Option<bool>,
    /// With this role: `teacher`, `student`, `proposer`, `solver`, `challenger`, `planner` or `critic`.
    pub role: Option<Role>,
}

keyed_by_seq!(Member);

const SELECT: &str = "SELECT m.id, m.seq, p.name AS population, m.name, m.roles, m.born_step, m.died_step,
    m.cause_of_death,
    (SELECT coalesce(json_agg(json_build_object('role', role, 'step', step, 'mu', mu, 'sigma', sigma) ORDER BY role), '[]')
     FROM standings WHERE member_id = m.id) AS ratings,
    (SELECT json_build_object('id', id, 'ordinal', ordinal, 'step', step, 'artifact', artifact,
         'learning_rate', learning_rate)
     FROM adapter_versions WHERE member_id = m.id ORDER BY ordinal DESC LIMIT 1) AS version
    FROM members m JOIN populations p ON p.id = m.population_id WHERE m.run_id = ";

/// Members of `run` that fit `filter`.
pub async fn page(db: &PgPool, run: ExecutionId, filter: &MemberFilter, window: &Window) -> Result<Page<Member>> {
    let mut query = QueryBuilder::new(SELECT);
    query.push_bind(run.0);
    and(&mut query, "(m.died_step IS NULL) = ", filter.alive);
    and(&mut query, "m.roles @> ", filter.role.map(|role| vec![role]));
    by_seq(db, query, "m.seq", window).await
}

/// One member.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, run: ExecutionId, id: MemberId) -> Result<Member> {
    let mut query = QueryBuilder::new(SELECT);
    query.push_bind(run.0).push(" AND m.id = ").push_bind(id.0);
    let member = query.build_query_as().fetch_optional(db).await?;
    member.ok_or_else(|| StoreError::not_found("member", id))
}

/// A member with its birth.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Relative {
    /// The member.
    pub id: Uuid,
    /// Its name within the run.
    pub name: String,
    /// Its population's name.
    pub population: String,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The step of its birth.
    pub born_step: i32,
    /// The step of its death.
    pub died_step: Option<i32>,
    /// Why it died.
    pub cause_of_death: Option<String>,
    /// `init`, or an operator of the catalogue; none if the birth was not recorded.
    pub operator: Option<String>,
    /// What it began with, if it is a founder of no fresh weights: an adapter, or a version of another run.
    pub ancestor: Option<String>,
    /// The member it replaced.
    pub replaces_id: Option<Uuid>,
    /// Its parents, in the operator's order.
    pub parents: Json<Vec<Parent>>,
    /// Its newest rating in each role.
    pub ratings: Json<Vec<Rating>>,
    /// Ordinal of its newest weights.
    pub ordinal: Option<i32>,
    /// Its own learning rate; none if it learns at the config's.
    pub learning_rate: Option<f64>,
    /// The requested metric's newest value, if it ever had one.
    pub metric: Option<f64>,
}

/// A member's name and roles.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct MemberName {
    /// The member.
    pub id: Uuid,
    /// Its name within the run.
    pub name: String,
    /// Its roles.
    pub roles: Vec<Role>,
}

/// Names of the first `limit` members of `run`, by birth.
pub async fn names(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<MemberName>> {
    Ok(sqlx::query_as("SELECT id, name, roles FROM members WHERE run_id = $1 ORDER BY seq LIMIT $2")
        .bind(run.0)
        .bind(i64::from(limit))
        .fetch_all(db)
        .await?)
}

/// How many members of `run` are alive, and how many died.
pub async fn lives(db: &PgPool, run: ExecutionId) -> Result<(i64, i64)> {
    Ok(sqlx::query_as(
        "SELECT count(*) FILTER (WHERE died_step IS NULL), count(died_step) FROM members WHERE run_id = $1",
    )
    .bind(run.0)
    .fetch_one(db)
    .await?)
}

/// The first `limit` living members of `run`, by birth.
pub async fn living(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<Relative>> {
    relatives(db, run, Of::Living, None, limit).await
}

/// The first `limit` members of `run`, by birth, each with the newest value of metric number `metric` (from 0).
pub async fn family(db: &PgPool, run: ExecutionId, metric: Option<usize>, limit: u32) -> Result<Vec<Relative>> {
    relatives(db, run, Of::All, metric, limit).await
}

/// One member; `None` if `run` does not have it.
pub async fn relative(db: &PgPool, run: ExecutionId, member: MemberId) -> Result<Option<Relative>> {
    Ok(relatives(db, run, Of::Member(member), None, 1).await?.pop())
}

/// The children of `member`.
pub async fn children(db: &PgPool, run: ExecutionId, member: MemberId, limit: u32) -> Result<Vec<Relative>> {
    relatives(db, run, Of::Parent(member), None, limit).await
}

/// Selects members.
enum Of {
    All,
    Living,
    Member(MemberId),
    Parent(MemberId),
}

async fn relatives(db: &PgPool, run: ExecutionId, of: Of, metric: Option<usize>, limit: u32) -> Result<Vec<Relative>> {
    let mut query = QueryBuilder::new(
        "SELECT m.id, m.name, (SELECT name FROM populations WHERE id = m.population_id) AS population, m.roles, m.born_step, m.died_step, m.cause_of_death, b.operator, b.ancestor, b.replaces_id,
             (SELECT coalesce(json_agg(json_build_object('member_id', v.member_id,
                  'member', (SELECT name FROM members WHERE id = v.member_id), 'run_id', v.run_id, 'version_id', v.id, 'ordinal', v.ordinal,
                  'displacement', (SELECT d.distance / nullif(g.norm, 0) FROM geometry_pairs d JOIN geometry g ON g.version_id = d.second_id AND g.step = d.step
                  JOIN adapter_versions c ON c.id = d.first_id WHERE d.second_id = v.id AND d.step = b.step AND c.member_id = p.child_id))
                  ORDER BY p.position), '[]')
              FROM birth_parents p JOIN adapter_versions v ON v.id = p.version_id WHERE p.child_id = m.id) AS parents,
             (SELECT coalesce(json_agg(json_build_object('role', role, 'step', step, 'mu', mu, 'sigma', sigma) ORDER BY role),
                  '[]') FROM standings WHERE member_id = m.id) AS ratings,
             (SELECT max(ordinal) FROM adapter_versions WHERE member_id = m.id) AS ordinal,
             (SELECT learning_rate FROM adapter_versions WHERE member_id = m.id ORDER BY ordinal DESC LIMIT 1) AS learning_rate, ",
    );
    match metric {
        None => {
            query.push("NULL::float8");
        }
        Some(place) => {
            let place = i32::try_from(place).unwrap_or(i32::MAX - 1) + 1;
            query.push("(SELECT \"values\"[").push_bind(place);
            query.push("] FROM metrics WHERE run_id = m.run_id AND member_id = m.id AND \"values\"[");
            query.push_bind(place).push("] <> 'NaN' ORDER BY step DESC LIMIT 1)");
        }
    }
    query.push(" AS metric FROM members m LEFT JOIN births b ON b.child_id = m.id WHERE m.run_id = ");
    query.push_bind(run.0);
    match of {
        Of::All => {}
        Of::Living => {
            query.push(" AND m.died_step IS NULL");
        }
        Of::Member(member) => {
            query.push(" AND m.id = ").push_bind(member.0);
        }
        Of::Parent(parent) => {
            query.push(
                " AND m.id IN (SELECT p.child_id FROM birth_parents p JOIN adapter_versions v ON v.id = p.version_id
                 WHERE v.member_id = ",
            );
            query.push_bind(parent.0).push(")");
        }
    }
    query.push(" ORDER BY m.seq LIMIT ").push_bind(i64::from(limit));
    Ok(query.build_query_as().fetch_all(db).await?)
}
