//! The members of a run as a family: births, deaths, parents and ratings.

use lyceum_core::{
    id::{ExecutionId, MemberId},
    recipe::Role,
};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder, types::Json};
use uuid::Uuid;

use crate::{Result, births::Parent, ratings::Rating};

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
    Ok(
        sqlx::query_as("SELECT id, name, roles FROM members WHERE run_id = $1 ORDER BY seq LIMIT $2")
            .bind(run.0)
            .bind(i64::from(limit))
            .fetch_all(db)
            .await?,
    )
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
