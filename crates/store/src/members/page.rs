//! Members of a run.

use lyceum_core::{
    id::{ExecutionId, MemberId},
    recipe::Role,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder, types::Json};
use uuid::Uuid;

use crate::{
    Result, StoreError,
    page::{Page, Window, and, by_seq, keyed_by_seq},
    ratings::Rating,
};

/// A member.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub roles: Vec<Role>,
    /// The step of its birth.
    pub born_step: i32,
    /// The step of its death.
    pub died_step: Option<i32>,
    /// Why it died.
    pub cause_of_death: Option<String>,
    /// Its newest rating in each role.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Rating>))]
    pub ratings: Json<Vec<Rating>>,
    /// Its newest weights.
    #[cfg_attr(feature = "schema", schema(value_type = Option<LatestVersion>))]
    pub version: Option<Json<LatestVersion>>,
}

/// The newest weights of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
