//! Members ranked by the lower bound of their rating.

use chrono::{DateTime, Utc};
use lyceum_core::{id::ExecutionId, recipe::Role};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Key, Keyed, Page, Window, and, limited, order_by_value},
};

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
    /// When the run was created.
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
        Key {
            value: Some(self.lower_bound),
            seq: self.seq,
        }
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
