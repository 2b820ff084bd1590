//! Creating a run from a preset or a config.

use actix_web::{post, web};
use lyceum_core::{config::RunConfig, id::ExecutionId, recipe::Recipe};
use lyceum_store::{
    StoreError,
    runs::{self, RunDetail},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;

use super::{
    run_begin::{begin, configured, settle_datasets},
    runs::find_experiment,
};
use crate::{
    api_error::ApiError,
    contract::{
        Answer, Query, TraceId, bounds,
        document::{Document, RequestBody, apart},
        idempotent::{Begun, IdempotencyKey},
    },
    estimate::Estimate,
    lab::Lab,
};

/// A run to create, from either a preset or a config.
#[derive(Debug, Default, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRun {
    /// A preset, by name (`GET /api/v1/presets`).
    pub(crate) preset: Option<String>,
    /// A run config (`GET /api/v1/schema/run-config`).
    #[schema(value_type = Option<Object>)]
    pub(crate) config: Option<Map<String, Value>>,
    /// Its name; by default that of the preset or the recipe.
    #[schemars(length(min = 1, max = bounds::NAME))]
    pub(crate) name: Option<String>,
    /// Its experiment, by name or id.
    pub(crate) experiment: Option<String>,
    /// Values that override the config, by dotted path, such as `populations.main.lora.r`: at most 1,000, with paths of
    /// at most 1,000 bytes and 32 parts.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) overrides: BTreeMap<String, Value>,
    /// Labels.
    #[serde(default)]
    #[schemars(length(max = bounds::TAGS))]
    pub(crate) tags: Vec<String>,
    /// A free-form note.
    #[serde(default)]
    #[schemars(length(max = bounds::NOTE))]
    pub(crate) note: String,
}

/// Whether to create the run or only check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRunQuery {
    /// `true` creates nothing and returns the resolved config.
    dry_run: Option<bool>,
}

crate::contract::query!(CreateRunQuery);

/// The result of a dry run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResolvedRun {
    /// The config with every default written out.
    #[schema(value_type = Object)]
    config: Value,
    /// Names of its metrics.
    metrics: Vec<&'static str>,
    /// Its estimated time and memory.
    estimate: Estimate,
}

impl ResolvedRun {
    /// The answer to a dry run that came to `config`. Step times are those of `from`, or of a run like it.
    pub(super) async fn of(
        db: &PgPool,
        recipe: &dyn Recipe,
        config: &RunConfig,
        preset: Option<&str>,
        from: Option<ExecutionId>,
    ) -> Result<Value, ApiError> {
        let metrics = recipe.recorded_metrics(config);
        let resolved = Self {
            config: serde_json::to_value(config).map_err(|error| ApiError::internal(&error))?,
            metrics: metrics.map_err(|error| ApiError::unprocessable(error.to_string()))?,
            estimate: Estimate::of(db, config, preset, from).await?,
        };
        serde_json::to_value(resolved).map_err(|error| ApiError::internal(&error))
    }
}

impl RequestBody for CreateRun {}

/// Create a run, which starts at once.
#[utoipa::path(
    tag = "runs",
    params(CreateRunQuery, ("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateRun,
    responses(
        (status = 201, description = "The run", body = RunDetail),
        (status = 200, description = "The resolved config (`dry_run`)", body = ResolvedRun),
    ),
    security(("token" = ["write"]))
)]
#[post("/runs")]
pub(crate) async fn create_run(
    lab: web::Data<Lab>,
    query: Query<CreateRunQuery>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<CreateRun>,
) -> Result<Answer<Value>, ApiError> {
    let is_trial = query.0.dry_run == Some(true);
    if !is_trial && let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let request = &Arc::new(sent.value);
    let checked = {
        let (lab, request) = (lab.clone(), Arc::clone(request));
        apart(move || configured(&lab, &request))
    };
    let config = checked.await??;
    let recipe = lab
        .registry
        .get(&config.recipe)
        .map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let experiment = find_experiment(lab.store.pool(), request.experiment.as_deref()).await?;
    if is_trial {
        let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
        let config = settle_datasets(&mut tx, &lab, recipe.as_ref(), config, request).await?;
        tx.rollback().await.map_err(StoreError::from)?;
        let preset = request.preset.as_deref();
        let resolved = ResolvedRun::of(lab.store.pool(), recipe.as_ref(), &config, preset, None).await?;
        return Ok(Answer::ok(resolved));
    }
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let config = settle_datasets(&mut creation.tx, &lab, recipe.as_ref(), config, request).await?;
    let id = begin(
        &mut creation.tx,
        &lab,
        &config,
        request,
        experiment,
        Some(trace.as_str()),
    )
    .await?;
    let run = runs::find(&mut *creation.tx, id).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{id}")).await?;
    tracing::info!(run.id = %id, recipe = config.recipe, "created run {id}");
    Ok(answer)
}
