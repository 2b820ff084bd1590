//! A run from its request: the config resolved and checked, and the run written.

use lyceum_core::{
    config::{RunConfig, apply_overrides, pointer_token, resolve},
    fault::{Fault, Faults},
    id::{ExecutionId, ExperimentId},
    recipe::Recipe,
};
use lyceum_store::runs::{self, NewRun};
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::BTreeMap;
use uuid::Uuid;

use super::run_create::CreateRun;
use crate::{
    api_error::ApiError,
    base_weights, dataset_use,
    evaluation::{self, named_dataset_faults},
    lab::Lab,
    rows_asked, vocabulary,
};

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
    let recipe = lab
        .registry
        .get(&config.recipe)
        .map_err(|error| unprocessable(&error))?;
    let recorded = recipe.recorded_metrics(config).map_err(|error| unprocessable(&error))?;
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe.begin(id, config).map_err(|error| unprocessable(&error))?;
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
        config,
        state: &state,
        metrics: &recorded,
        trace_id,
        forked_from: None,
    };
    runs::begin(&mut *tx, &new).await?;
    if config.benchmarks.as_ref().is_some_and(|schedule| schedule.at_start) {
        let from = (lab.store.pool(), &lab.registry);
        evaluation::measure(&mut *tx, from, id, config, 0).await?;
    }
    Ok(id)
}

/// The config with its datasets looked up; refused if any is missing or unsuitable.
pub(crate) async fn settle_datasets(
    db: &mut PgConnection,
    lab: &Lab,
    recipe: &dyn Recipe,
    config: RunConfig,
    request: &CreateRun,
) -> Result<RunConfig, ApiError> {
    let uses = recipe
        .datasets(&config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let mut faults = Vec::new();
    if let Some(schedule) = &config.benchmarks {
        faults.extend(named_dataset_faults(&mut *db, lab.store.pool(), &schedule.suites, "/benchmarks/suites").await?);
    }
    let settled = match dataset_use::settle(&mut *db, lab, &uses, config).await? {
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
pub(crate) fn configured(lab: &Lab, request: &CreateRun) -> Result<RunConfig, ApiError> {
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
            lab.presets
                .get(name)
                .map_err(|unknown| ApiError::invalid(vec![Fault::new("/preset", unknown)]))?
                .config
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
