//! Experiments: runs that are compared.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExperimentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Key, Keyed, Page, Window, and, by_seq, prefix};
use crate::{Result, StoreError};

/// An experiment.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Experiment {
    /// The experiment.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name, unique.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Labels.
    pub tags: Vec<String>,
    /// When its arms have enough seeds: `alpha`, `beta`, `h0` and `h1` of a sequential test; none if the rule is off.
    #[schema(value_type = Option<Object>)]
    pub stopping: Option<serde_json::Value>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

const COLUMNS: &str = "id, seq, name, description, tags, stopping, created_at, updated_at";

/// The editable fields of a new experiment.
#[derive(Clone, Debug)]
pub struct NewExperiment<'a> {
    pub name: &'a str,
    pub description: &'a str,
    /// Labels.
    pub tags: &'a [String],
    /// The rule by which it has enough seeds.
    pub stopping: Option<serde_json::Value>,
}

/// Changes to an experiment; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct ExperimentChanges<'a> {
    pub name: Option<&'a str>,
    pub description: Option<&'a str>,
    /// Labels.
    pub tags: Option<&'a [String]>,
    /// The rule by which it has enough seeds, or that there is none.
    pub stopping: Option<Option<serde_json::Value>>,
}

/// Selects experiments.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ExperimentFilter {
    /// Whose name starts with this, ignoring case.
    pub name: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
}

/// Writes an experiment.
///
/// # Errors
/// [`StoreError::Taken`] if the name is in use.
pub async fn create(tx: &mut PgConnection, new: &NewExperiment<'_>) -> Result<Experiment> {
    let mut query = QueryBuilder::new("INSERT INTO experiments (id, name, description, tags, stopping) VALUES (");
    query
        .push_bind(Uuid::now_v7())
        .push(", ")
        .push_bind(new.name)
        .push(", ")
        .push_bind(new.description)
        .push(", ")
        .push_bind(new.tags)
        .push(", ")
        .push_bind(&new.stopping);
    query.push(format_args!(") ON CONFLICT (name) DO NOTHING RETURNING {COLUMNS}"));
    let experiment = query.build_query_as().fetch_optional(tx).await?;
    experiment.ok_or_else(|| StoreError::taken("experiment", new.name))
}

/// Experiments that fit `filter`.
pub async fn page(db: &PgPool, filter: &ExperimentFilter, window: &Window) -> Result<Page<Experiment>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM experiments WHERE true"));
    and(&mut query, "lower(name) LIKE ", filter.name.as_deref().map(prefix));
    and(&mut query, "tags @> ", filter.tag.clone().map(|tag| vec![tag]));
    by_seq(db, query, "seq", window).await
}

/// How many runs each of `experiments` has, and how many of them are running. Experiments without runs are omitted.
pub async fn run_counts(db: &PgPool, experiments: &[Uuid]) -> Result<Vec<(Uuid, i64, i64)>> {
    Ok(sqlx::query_as(
        "SELECT r.experiment_id, count(*), count(*) FILTER (WHERE e.state IN ('running', 'paused'))
         FROM runs r JOIN executions e ON e.id = r.id WHERE r.experiment_id = ANY($1) GROUP BY r.experiment_id",
    )
    .bind(experiments)
    .fetch_all(db)
    .await?)
}

/// One experiment.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: ExperimentId) -> Result<Experiment> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM experiments WHERE id = "));
    query.push_bind(id.0);
    let experiment = query.build_query_as().fetch_optional(db).await?;
    experiment.ok_or_else(|| StoreError::not_found("experiment", id))
}

pub async fn named(db: &PgPool, name: &str) -> Result<Option<ExperimentId>> {
    let id: Option<Uuid> = sqlx::query_scalar("SELECT id FROM experiments WHERE name = $1 OR id::text = $1 LIMIT 1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    Ok(id.map(ExperimentId))
}

/// Changes the given fields.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Taken`] if the name is in use.
pub async fn update(db: &PgPool, id: ExperimentId, changes: &ExperimentChanges<'_>) -> Result<Experiment> {
    let mut query = QueryBuilder::new("UPDATE experiments SET updated_at = now(), name = coalesce(");
    query
        .push_bind(changes.name)
        .push(", name), description = coalesce(")
        .push_bind(changes.description)
        .push(", description), tags = coalesce(")
        .push_bind(changes.tags);
    query.push(", tags)");
    if let Some(stopping) = &changes.stopping {
        query.push(", stopping = ").push_bind(stopping);
    }
    query.push(" WHERE id = ").push_bind(id.0);
    query.push(format_args!(" RETURNING {COLUMNS}"));
    match query.build_query_as().fetch_optional(db).await {
        Ok(experiment) => experiment.ok_or_else(|| StoreError::not_found("experiment", id)),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
            Err(StoreError::taken("experiment", changes.name.unwrap_or_default()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Removes an experiment without runs.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] while it has runs.
pub async fn remove(db: &PgPool, id: ExperimentId) -> Result<()> {
    match sqlx::query("DELETE FROM experiments WHERE id = $1").bind(id.0).execute(db).await {
        Ok(removed) if removed.rows_affected() == 0 => Err(StoreError::not_found("experiment", id)),
        Ok(_) => Ok(()),
        Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => Err(StoreError::Conflict {
            what: "experiment",
            id: id.to_string(),
            state: "in use by runs".to_owned(),
            wanted: "without runs",
            action: "deleted",
        }),
        Err(error) => Err(error.into()),
    }
}

impl Keyed for Experiment {
    fn key(&self) -> Key {
        Key { value: None, seq: self.seq }
    }
}
