//! Creates and begins runs.

use actix_web::web;
use lyceum_core::config::{RunConfig, apply_overrides, pointer_token, resolve};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_core::recipe::Recipe;
use lyceum_store::StoreError;
use lyceum_store::runs::{self, NewRun, RunDetail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::{ApiError, FieldFault};
use crate::contract::document::{Document, RequestBody, apart};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Query, TraceId, bounds};
use crate::estimate::Estimate;
use crate::lab::Lab;
use crate::subjects::datasets::usable;
use crate::subjects::evaluations::prepare::{self, named_dataset_faults};
use crate::subjects::runs::{ancestors, find_experiment};
use crate::{base_weights, chat_template, rows_asked, vocabulary};

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
    /// Settings that are valid and hardly ever wanted.
    warnings: Vec<FieldFault>,
}

/// The warnings about a resolved config.
fn warnings(recipe: &dyn Recipe, config: &RunConfig) -> Vec<FieldFault> {
    recipe.warnings(config).unwrap_or_default().into_iter().map(FieldFault::from).collect()
}

/// A run that was created.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedRun {
    #[serde(flatten)]
    run: RunDetail,
    /// Settings that are valid and hardly ever wanted.
    warnings: Vec<FieldFault>,
}

impl ResolvedRun {
    /// The answer to a dry run that came to `config`. Step times are those of `from`, or of a run like it.
    pub(crate) async fn of(
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
            warnings: warnings(recipe, config),
        };
        serde_json::to_value(resolved).map_err(|error| ApiError::internal(&error))
    }
}

impl RequestBody for CreateRun {}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_run", "/runs").says("Create a run, which starts at once.", "The run");
    let new = Endpoint::post(new, "runs", create_run).query::<CreateRunQuery>().idempotent();
    let new = new.takes::<CreateRun>().creates::<CreatedRun>();
    let new = new.or_answers::<ResolvedRun>("200", "The resolved config (`dry_run`)");
    vec![new]
}

async fn create_run(
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
    let recipe = lab.registry.get(&config.recipe).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
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
    let id = begin(&mut creation.tx, &lab, &config, request, experiment, Some(trace.as_str())).await?;
    let run =
        CreatedRun { run: runs::find(&mut *creation.tx, id).await?, warnings: warnings(recipe.as_ref(), &config) };
    let answer = creation.finish(&run, &format!("/api/v1/runs/{id}")).await?;
    tracing::info!(run.id = %id, recipe = config.recipe, "created run {id}");
    Ok(answer)
}

/// Writes the run that `request` asks for, whose settled config is `config`; it starts when the transaction commits.
pub(crate) async fn begin(
    tx: &mut PgConnection,
    lab: &Lab,
    config: &RunConfig,
    request: &CreateRun,
    experiment: Option<ExperimentId>,
    trace_id: Option<&str>,
) -> Result<ExecutionId, ApiError> {
    let unprocessable = |error: &dyn std::fmt::Display| ApiError::unprocessable(error.to_string());
    let recipe = lab.registry.get(&config.recipe).map_err(|error| unprocessable(&error))?;
    let recorded = recipe.recorded_metrics(config).map_err(|error| unprocessable(&error))?;
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe.begin(id, config).map_err(|error| unprocessable(&error))?;
    let new = NewRun {
        name: request.name.as_deref().or(request.preset.as_deref()).unwrap_or(&config.recipe),
        experiment,
        preset: request.preset.as_deref(),
        tags: &request.tags,
        note: &request.note,
        config,
        state: &state,
        metrics: &recorded,
        trace_id,
        forked_from: None,
    };
    runs::begin(&mut *tx, &new).await?;
    if config.benchmarks.as_ref().is_some_and(|schedule| schedule.at_start) {
        let from = (lab.store.pool(), &lab.registry);
        prepare::measure(&mut *tx, from, id, config, 0).await?;
    }
    Ok(id)
}

/// The config with its datasets looked up; refused if any is missing or unsuitable.
pub(crate) async fn settle_datasets(
    db: &mut PgConnection,
    lab: &Lab,
    recipe: &dyn Recipe,
    mut config: RunConfig,
    request: &CreateRun,
) -> Result<RunConfig, ApiError> {
    let uses = recipe.datasets(&config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let mut faults = ancestors::settle(&mut *db, recipe, &mut config, None).await?;
    if let Some(schedule) = &config.benchmarks {
        faults.extend(named_dataset_faults(&mut *db, lab.store.pool(), &schedule.suites, "/benchmarks/suites").await?);
    }
    let settled = match usable::settle(&mut *db, lab, &uses, config).await? {
        Ok(config) => {
            if faults.is_empty() {
                faults.extend(rows_asked::faults(db, recipe, &config).await?);
                faults.extend(vocabulary::faults(recipe, &config).await?);
                faults.extend(chat_template::faults(recipe, &config)?);
            }
            Faults(faults).or(config)
        }
        Err(Faults(others)) => Err(Faults([others, faults].concat())),
    };
    settled.map_err(|faults| placed(faults, &request.overrides, request.preset.as_deref()))
}

/// The resolved config of a request, with the digests of its bases' weights. Takes a while.
pub(crate) fn configured(lab: &Lab, request: &CreateRun) -> Result<RunConfig, ApiError> {
    let mut document = match (&request.preset, &request.config) {
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid(vec![Fault::new(
                "/config",
                "there is also a preset; send only one of the two",
            )]));
        }
        (None, None) => {
            return Err(ApiError::invalid(vec![Fault::new("", "send a `preset` by name or a `config`")]));
        }
        (Some(name), None) => {
            lab.presets.get(name).map_err(|unknown| ApiError::invalid(vec![Fault::new("/preset", unknown)]))?.config
        }
        (None, Some(config)) => Value::Object(config.clone()),
    };
    apply_overrides(&mut document, &request.overrides)?;
    let refused = |faults| placed(faults, &request.overrides, request.preset.as_deref());
    let mut config = resolve(&document, &lab.registry).map_err(refused)?;
    base_weights::name_weights(&mut config);
    Faults(base_weights::changed(&config)).or(config).map_err(refused)
}

/// Faults of a config, located in the request.
pub(crate) fn placed(faults: Faults, overrides: &BTreeMap<String, Value>, preset: Option<&str>) -> ApiError {
    let place = |fault: Fault| {
        let dotted = fault.pointer.trim_start_matches('/').replace('/', ".");
        // The path itself, or one that leads to it.
        let ends = dotted.match_indices('.').map(|(end, _)| end).chain([dotted.len()]);
        let overridden = ends.map(|end| &dotted[..end]).find(|path| overrides.contains_key(*path));
        match (overridden, preset) {
            (Some(path), _) => Fault::new(format!("/overrides/{}", pointer_token(path)), fault.detail),
            (None, Some(preset)) => Fault::new("/preset", format!("in `{preset}`: {fault}")),
            (None, None) => Fault::new(format!("/config{}", fault.pointer), fault.detail),
        }
    };
    ApiError::invalid(faults.0.into_iter().map(place).collect())
}
