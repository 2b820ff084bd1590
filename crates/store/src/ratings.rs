//! Ratings (TrueSkill) of members.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::{RatingRecord, Role};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::page::{Key, Keyed, Page, Window, and, limited, order_by_value};
use crate::steps::{StepRef, Stretch};

/// A member's rating after a step.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct RatingPoint {
    pub step: i32,
    pub member_id: Uuid,
    pub role: Role,
    /// Mean (TrueSkill).
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// Ratings of all or some members of `run`, at every `steps.width`th step and at the last one.
pub async fn history(
    db: &PgPool,
    run: ExecutionId,
    members: Option<&[MemberId]>,
    steps: Stretch,
) -> Result<Vec<RatingPoint>> {
    let [from, to, stride] = steps.binds();
    let members = members.map(|members| members.iter().map(|id| id.0).collect::<Vec<Uuid>>());
    Ok(sqlx::query_as(
        "SELECT step, member_id, role, mu, sigma FROM ratings
         WHERE run_id = $1 AND ($2::uuid[] IS NULL OR member_id = ANY($2))
             AND step BETWEEN $4 AND $5
             AND (step % $3 = 0 OR step = (SELECT max(step) FROM ratings WHERE run_id = $1))
         ORDER BY step, member_id, role",
    )
    .bind(run.0)
    .bind(members)
    .bind(stride)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// A rating (TrueSkill).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rating {
    /// The role.
    #[schema(value_type = String)]
    pub role: Role,
    /// The step after which it was computed.
    pub step: i32,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// A member's standing.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Standing {
    pub member_id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name within the run.
    pub name: String,
    pub run_id: Uuid,
    /// The run's name.
    pub run: String,
    /// The algorithm of the run.
    pub recipe: String,
    /// The base model's name.
    pub base_model: Option<String>,
    /// The rated role.
    pub role: Role,
    /// The step after which it was computed.
    pub step: i32,
    /// Mean (TrueSkill).
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
    /// `mu - 3 sigma`.
    pub lower_bound: f32,
    /// The step of its birth.
    pub born_step: i32,
    /// The step of its death.
    pub died_step: Option<i32>,
    pub run_created_at: DateTime<Utc>,
}

/// Selects members.
#[derive(Clone, Debug, Default)]
pub struct StandingFilter {
    pub role: Option<Role>,
    pub run: Option<ExecutionId>,
    /// Living or dead ones.
    pub alive: Option<bool>,
    /// Of runs of this recipe.
    pub recipe: Option<String>,
}

impl Keyed for Standing {
    fn key(&self) -> Key {
        Key { value: Some(self.lower_bound), seq: self.seq }
    }
}

/// Members of any run that fit `filter`, highest lower bound first if the window says newest, lowest first otherwise.
pub async fn standings(db: &PgPool, filter: &StandingFilter, window: &Window) -> Result<Page<Standing>> {
    let mut query = QueryBuilder::new(
        "SELECT s.member_id, s.seq, m.name, s.run_id, r.name AS run, e.recipe, p.base_model ->> 'name' AS base_model, s.role,
             s.step, s.mu, s.sigma, s.lower_bound, m.born_step, m.died_step, e.created_at AS run_created_at
         FROM standings s JOIN members m ON m.id = s.member_id JOIN populations p ON p.id = m.population_id
         JOIN runs r ON r.id = s.run_id JOIN executions e ON e.id = s.run_id WHERE true",
    );
    // What a fork took over is in the run that did it, until the fork rates it itself.
    if filter.run.is_none() {
        query.push(" AND (r.forked_at_step IS NULL OR s.step >= r.forked_at_step)");
    }
    and(&mut query, "s.role = ", filter.role);
    and(&mut query, "s.run_id = ", filter.run.map(|id| id.0));
    and(&mut query, "(m.died_step IS NULL) = ", filter.alive);
    and(&mut query, "e.recipe = ", filter.recipe.clone());
    order_by_value(&mut query, ("s.lower_bound", "s.seq"), window);
    limited(db, query, window).await
}

/// Writes ratings and updates the standings.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[RatingRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert =
        QueryBuilder::new("WITH inserted AS (INSERT INTO ratings (run_id, step, member_id, role, mu, sigma) ");
    insert.push_values(records, |mut row, record| {
        row.push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.member.0)
            .push_bind(record.role)
            .push_bind(record.mu)
            .push_bind(record.sigma);
    });
    insert.push(
        " ON CONFLICT DO NOTHING RETURNING run_id, step, member_id, role, mu, sigma)
         INSERT INTO standings (member_id, role, run_id, seq, step, mu, sigma)
         SELECT i.member_id, i.role, i.run_id, m.seq, i.step, i.mu, i.sigma
         FROM inserted i JOIN members m ON m.id = i.member_id
         ON CONFLICT (member_id, role) DO UPDATE SET step = excluded.step, mu = excluded.mu, sigma = excluded.sigma
         WHERE standings.step < excluded.step",
    );
    insert.build().execute(tx).await?;
    Ok(())
}
