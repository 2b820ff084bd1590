//! Forks of runs.

use actix_web::{post, web};
use lyceum_core::{
    config::{MAX_STEPS, RunConfig, apply_overrides, resolve},
    dataset::DatasetUse,
    fault::{Fault, Faults},
    id::ExecutionId,
    recipe::Recipe,
};
use lyceum_store::runs::{self, Fork, RunDetail};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    Api,
    answer::Answer,
    bounds,
    document::{Document, RequestBody},
    idempotent::{Begun, IdempotencyKey},
    run_create::placed,
};
use crate::{api_error::ApiError, base_weights, checks::apart, dataset_use, log::TraceId, rows_asked, vocabulary};

/// The step of a fork, and its changes.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRun {
    /// The step before which to fork.
    #[schemars(range(max = MAX_STEPS))]
    step: u32,
    /// The fork's name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// Values that override the config, by dotted path: at most 1,000, with paths of at most 1,000 bytes and 32 parts.
    #[serde(default)]
    #[schema(value_type = Object)]
    overrides: BTreeMap<String, Value>,
}

impl RequestBody for ForkRun {}

/// Fork a run before a step, with its own config or a changed one.
#[utoipa::path(
    tag = "runs",
    params(
        ("id" = Uuid, Path, description = "The run to fork"),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key"),
    ),
    request_body = ForkRun,
    responses((status = 201, description = "The new run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/fork")]
pub(crate) async fn fork_run(
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<ForkRun>,
) -> Result<Answer<Value>, ApiError> {
    let db = api.store.pool();
    let fork = &Arc::new(sent.value);
    let origin = runs::find(db, *id).await?;
    let begun = RunConfig::deserialize(&origin.config).map_err(|error| ApiError::internal(&error))?;
    let checked = {
        let (api, fork) = (api.clone(), Arc::clone(fork));
        let (document, begun) = (origin.config.clone(), begun.clone());
        apart(move || branched(&api, document, &begun, &fork.overrides))
    };
    let config = checked.await??;
    if config.recipe != origin.run.recipe {
        let detail = format!("a fork keeps the recipe of its run, {}", origin.run.recipe);
        return Err(ApiError::invalid(vec![Fault::new("/overrides/recipe", detail)]));
    }
    let recipe = api
        .registry
        .get(&config.recipe)
        .map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    if fork.step >= config.steps {
        let detail = format!("no steps are left after {}: the config has {}", fork.step, config.steps);
        return Err(ApiError::invalid(vec![Fault::new("/step", detail)]));
    }
    let state = runs::state_at(db, *id, fork.step).await?;
    let mut creation = match key.begin(db, sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let named = new_datasets(recipe.as_ref(), &begun, &config)?;
    let config = dataset_use::settle(&mut creation.tx, &named, config, &api.registry).await?;
    let config = match config {
        Ok(config) => {
            let mut faults = rows_asked::faults(&mut creation.tx, recipe.as_ref(), &config).await?;
            faults.extend(vocabulary::faults(recipe.as_ref(), &config).await?);
            Faults(faults).or(config)
        }
        Err(faults) => Err(faults),
    };
    let config = config.map_err(|faults| placed(faults, &fork.overrides, None))?;
    let recorded = recipe
        .recorded_metrics(&config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let new = ExecutionId(Uuid::now_v7());
    let name = fork
        .name
        .clone()
        .unwrap_or_else(|| branch_name(&origin.run.name, fork.step));
    let fork = Fork {
        id: new,
        from: *id,
        step: fork.step,
        state,
        name: &name,
        config: &config,
        metrics: &recorded,
        trace_id: Some(trace.as_str()),
    };
    runs::fork(&mut creation.tx, &fork).await?;
    let run = runs::find(&mut *creation.tx, new).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{new}")).await?;
    tracing::info!(run.id = %new, run.forked_from = %id, "forked run {id} at step {} into {new}", fork.step);
    Ok(answer)
}

/// The config of a run that began with `begun`, with `overrides`. Takes a while.
fn branched(
    api: &Api,
    mut document: Value,
    begun: &RunConfig,
    overrides: &BTreeMap<String, Value>,
) -> Result<RunConfig, ApiError> {
    apply_overrides(&mut document, overrides)?;
    let refused = |faults| placed(faults, overrides, None);
    let config = resolve(&document, &api.registry).map_err(refused)?;
    let mut faults = base_weights::replaced(begun, &config);
    if faults.is_empty() {
        faults.extend(base_weights::changed(&config));
    }
    Faults(faults).or(config).map_err(refused)
}

/// The datasets named by the fork's config but not by its origin's, which may have been deleted and are no longer
/// needed.
fn new_datasets(recipe: &dyn Recipe, origin: &RunConfig, branch: &RunConfig) -> Result<Vec<DatasetUse>, ApiError> {
    let of = |config| {
        let uses = recipe.datasets(config);
        uses.map_err(|error| ApiError::unprocessable(error.to_string()))
    };
    let known = of(origin)?;
    let mut named = of(branch)?;
    named.retain(|one| !known.contains(one));
    Ok(named)
}

/// Names have at most 200 characters.
fn branch_name(name: &str, step: u32) -> String {
    let kept: String = name.chars().take(170).collect();
    format!("{kept} (from step {step})")
}
