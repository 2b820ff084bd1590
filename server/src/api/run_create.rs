//! Creating a run from a preset or a config.

use actix_web::{post, web};
use lyceum_core::{
    config::{RunConfig, apply_overrides, pointer_token, resolve},
    fault::{Fault, Faults},
    id::ExecutionId,
    recipe::Recipe,
};
use lyceum_store::{
    StoreError,
    runs::{self, NewRun, RunDetail},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    Api,
    answer::Answer,
    bounds,
    document::{Document, RequestBody},
    idempotent::{Begun, IdempotencyKey},
    query::Query,
    runs::find_experiment,
};
use crate::{
    api_error::ApiError,
    base_weights,
    checks::apart,
    dataset_use,
    estimate::Estimate,
    evaluation::{self, named_dataset_faults},
    log::TraceId,
    rows_asked, vocabulary,
};

/// A run to create, from either a preset or a config.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRun {
    /// A preset, by name (`GET /api/v1/presets`).
    preset: Option<String>,
    /// A run config (`GET /api/v1/schema/run-config`).
    #[schema(value_type = Option<Object>)]
    config: Option<Map<String, Value>>,
    /// Its name; by default that of the preset or the recipe.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// Its experiment, by name or id.
    experiment: Option<String>,
    /// Values that override the config, by dotted path, such as `populations.main.lora.r`: at most 1,000, with paths of
    /// at most 1,000 bytes and 32 parts.
    #[serde(default)]
    #[schema(value_type = Object)]
    overrides: BTreeMap<String, Value>,
    /// Labels.
    #[serde(default)]
    #[schemars(length(max = bounds::TAGS))]
    tags: Vec<String>,
    /// A free-form note.
    #[serde(default)]
    #[schemars(length(max = bounds::NOTE))]
    note: String,
}

/// Whether to create the run or only check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRunQuery {
    /// `true` creates nothing and returns the resolved config.
    dry_run: Option<bool>,
}

crate::openapi::query!(CreateRunQuery);

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
    api: web::Data<Api>,
    query: Query<CreateRunQuery>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<CreateRun>,
) -> Result<Answer<Value>, ApiError> {
    let request = &Arc::new(sent.value);
    let checked = {
        let (api, request) = (api.clone(), Arc::clone(request));
        apart(move || configured(&api, &request))
    };
    let config = checked.await??;
    let recipe = api
        .registry
        .get(&config.recipe)
        .map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let recorded = recipe
        .recorded_metrics(&config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let experiment = find_experiment(api.store.pool(), request.experiment.as_deref()).await?;
    if query.0.dry_run == Some(true) {
        let mut tx = api.store.pool().begin().await.map_err(StoreError::from)?;
        let config = settle_datasets(&mut tx, &api, recipe.as_ref(), config, request).await?;
        tx.rollback().await.map_err(StoreError::from)?;
        let estimate = Estimate::of(api.store.pool(), &config, request.preset.as_deref(), None).await?;
        let resolved = ResolvedRun {
            config: serde_json::to_value(&config).map_err(|error| ApiError::internal(&error))?,
            metrics: recorded,
            estimate,
        };
        let body = serde_json::to_value(resolved).map_err(|error| ApiError::internal(&error))?;
        return Ok(Answer::ok(body));
    }
    let mut creation = match key.begin(api.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let config = settle_datasets(&mut creation.tx, &api, recipe.as_ref(), config, request).await?;
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe
        .begin(id, &config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let new = NewRun {
        name: request
            .name
            .as_deref()
            .or(request.preset.as_deref())
            .unwrap_or(&config.recipe),
        experiment,
        preset: request.preset.as_deref(),
        tags: &request.tags,
        note: &request.note,
        config: &config,
        state: &state,
        metrics: &recorded,
        trace_id: Some(trace.as_str()),
        forked_from: None,
    };
    runs::begin(&mut creation.tx, &new).await?;
    if config.benchmarks.as_ref().is_some_and(|schedule| schedule.at_start) {
        evaluation::measure(&mut creation.tx, &api.registry, id, &config, 0).await?;
    }
    let run = runs::find(&mut *creation.tx, id).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{id}")).await?;
    tracing::info!(run.id = %id, recipe = config.recipe, "created run {id}");
    Ok(answer)
}

/// The config with its datasets looked up; refused if any is missing or unsuitable.
async fn settle_datasets(
    db: &mut PgConnection,
    api: &Api,
    recipe: &dyn Recipe,
    config: RunConfig,
    request: &CreateRun,
) -> Result<RunConfig, ApiError> {
    let uses = recipe
        .datasets(&config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let mut faults = Vec::new();
    if let Some(schedule) = &config.benchmarks {
        faults.extend(named_dataset_faults(&mut *db, &schedule.suites, "/benchmarks/suites").await?);
    }
    let settled = match dataset_use::settle(&mut *db, &uses, config, &api.registry).await? {
        Ok(config) => {
            if faults.is_empty() {
                faults.extend(rows_asked::faults(db, recipe, &config).await?);
                faults.extend(vocabulary::faults(recipe, &config).await?);
            }
            Faults(faults).or(config)
        }
        Err(Faults(others)) => Err(Faults([others, faults].concat())),
    };
    settled.map_err(|faults| placed(faults, &request.overrides, request.preset.as_deref()))
}

/// The resolved config of a request, with the digests of its bases' weights. Takes a while.
fn configured(api: &Api, request: &CreateRun) -> Result<RunConfig, ApiError> {
    let mut document = match (&request.preset, &request.config) {
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid(vec![Fault::new(
                "/config",
                "there is also a preset; send only one of the two",
            )]));
        }
        (None, None) => {
            return Err(ApiError::invalid(vec![Fault::new(
                "",
                "send a `preset` by name or a `config`",
            )]));
        }
        (Some(name), None) => {
            api.presets
                .get(name)
                .map_err(|unknown| ApiError::invalid(vec![Fault::new("/preset", unknown)]))?
                .config
        }
        (None, Some(config)) => Value::Object(config.clone()),
    };
    apply_overrides(&mut document, &request.overrides)?;
    let refused = |faults| placed(faults, &request.overrides, request.preset.as_deref());
    let mut config = resolve(&document, &api.registry).map_err(refused)?;
    base_weights::name_weights(&mut config);
    Faults(base_weights::changed(&config)).or(config).map_err(refused)
}

/// Faults of a config, located in the request.
pub(super) fn placed(faults: Faults, overrides: &BTreeMap<String, Value>, preset: Option<&str>) -> ApiError {
    let place = |fault: Fault| {
        let dotted = fault.pointer.trim_start_matches('/').replace('/', ".");
        // The path itself, or one that leads to it.
        let ends = dotted.match_indices('.').map(|(end, _)| end).chain([dotted.len()]);
        let overridden = ends
            .map(|end| &dotted[..end])
            .find(|path| overrides.contains_key(*path));
        match (overridden, preset) {
            (Some(path), _) => Fault::new(format!("/overrides/{}", pointer_token(path)), fault.detail),
            (None, Some(preset)) => Fault::new("/preset", format!("in `{preset}`: {fault}")),
            (None, None) => Fault::new(format!("/config{}", fault.pointer), fault.detail),
        }
    };
    ApiError::invalid(faults.0.into_iter().map(place).collect())
}
