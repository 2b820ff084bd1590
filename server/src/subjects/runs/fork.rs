//! Forks of runs.

use actix_web::web;
use lyceum_core::config::{MAX_STEPS, RunConfig, apply_overrides, resolve};
use lyceum_core::dataset::DatasetUse;
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{REWARD_PART, Recipe};
use lyceum_store::StoreError;
use lyceum_store::runs::{self, Fork, RunDetail};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody, apart};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Query, TraceId, bounds};
use crate::lab::Lab;
use crate::subjects::datasets::usable;
use crate::subjects::runs::ancestors;
use crate::subjects::runs::create::{ResolvedRun, placed};
use crate::{base_weights, chat_template, rows_asked, vocabulary};

/// The step of a fork, and its changes.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRun {
    /// The step before which to fork; by default where the run is now, or its end.
    #[schemars(range(max = MAX_STEPS))]
    step: Option<u32>,
    /// Steps to run from there on, which sets `steps` of the config.
    #[schemars(range(min = 1, max = MAX_STEPS))]
    more_steps: Option<u32>,
    /// The fork's name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// Values that override the config, by dotted path: at most 1,000, with paths of at most 1,000 bytes and 32 parts.
    #[serde(default)]
    #[schema(value_type = Object)]
    overrides: BTreeMap<String, Value>,
}

/// Whether to fork the run or only check the fork.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRunQuery {
    /// `true` creates nothing and returns the resolved config.
    dry_run: Option<bool>,
}

impl RequestBody for ForkRun {}

impl ForkRun {
    /// The overrides, with the number of steps if it follows from others.
    fn overrides(&self, step: u32) -> Result<BTreeMap<String, Value>, ApiError> {
        let mut overrides = self.overrides.clone();
        if let Some(more) = self.more_steps
            && overrides.insert("steps".to_owned(), Value::from(step.saturating_add(more))).is_some()
        {
            let detail = "`more_steps` sets the steps already; send only one of the two";
            return Err(ApiError::invalid(vec![Fault::new("/overrides/steps", detail)]));
        }
        Ok(overrides)
    }
}

/// A fault of the number of steps, where the request has it.
fn at_more_steps(error: ApiError, fork: &ForkRun) -> ApiError {
    if fork.more_steps.is_none() || error.errors().is_empty() {
        return error;
    }
    let faults = error.errors().iter().map(|fault| match fault.pointer.as_deref() {
        Some("/overrides/steps") => Fault::new("/more_steps", fault.detail.clone()),
        other => Fault::new(other.unwrap_or_default(), fault.detail.clone()),
    });
    ApiError::invalid(faults.collect())
}

pub(crate) fn endpoints() -> Vec<Endpoint> {
    let fork = About::new("fork_run", "/runs/{id}/fork")
        .says("Fork a run before a step, with its own config or a changed one.", "The new run");
    let fork = Endpoint::post(fork, "runs", fork_run);
    let fork = fork.query::<ForkRunQuery>().id("id", "The run to fork");
    let fork = fork.idempotent().takes::<ForkRun>().creates::<RunDetail>();
    let fork = fork.or_answers::<ResolvedRun>("200", "The resolved config (`dry_run`)");
    vec![fork]
}

async fn fork_run(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ForkRunQuery>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<ForkRun>,
) -> Result<Answer<Value>, ApiError> {
    let db = lab.store.pool();
    let is_trial = query.0.dry_run == Some(true);
    if !is_trial && let Some(answer) = key.answer(db, &sent.fingerprint).await? {
        return Ok(answer);
    }
    let fork = sent.value;
    let origin = runs::find(db, *id).await?;
    let step = fork.step.unwrap_or(origin.run.step.cast_unsigned());
    let overrides = &Arc::new(fork.overrides(step)?);
    let begun = RunConfig::deserialize(&origin.config).map_err(|error| ApiError::internal(&error))?;
    let checked = {
        let (lab, overrides) = (lab.clone(), Arc::clone(overrides));
        let (document, begun) = (origin.config.clone(), begun.clone());
        apart(move || branched(&lab, document, &begun, &overrides))
    };
    let config = checked.await?.map_err(|error| at_more_steps(error, &fork))?;
    if config.recipe != origin.run.recipe {
        let detail = format!("a fork keeps the recipe of its run, {}", origin.run.recipe);
        return Err(ApiError::invalid(vec![Fault::new("/overrides/recipe", detail)]));
    }
    let recipe = lab.registry.get(&config.recipe).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    if step >= config.steps {
        let detail = format!("no steps are left after {step}: the config has {}", config.steps);
        return Err(ApiError::invalid(vec![Fault::new("/step", detail)]));
    }
    let state = runs::state_at(db, *id, step).await?;
    if is_trial {
        let mut tx = db.begin().await.map_err(StoreError::from)?;
        let config = settled(&mut tx, &lab, recipe.as_ref(), (&begun, step, config), overrides).await?;
        tx.rollback().await.map_err(StoreError::from)?;
        let resolved = ResolvedRun::of(db, recipe.as_ref(), &config, None, Some(*id)).await?;
        return Ok(Answer::ok(resolved));
    }
    let mut creation = match key.begin(db, sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let config = settled(&mut creation.tx, &lab, recipe.as_ref(), (&begun, step, config), overrides).await?;
    let recorded = recipe.recorded_metrics(&config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let mut recorded: Vec<&str> = recorded;
    let parts = origin.metrics.iter().map(String::as_str);
    recorded.extend(parts.filter(|name| name.starts_with(REWARD_PART)));
    let new = ExecutionId(Uuid::now_v7());
    let name = fork.name.clone().unwrap_or_else(|| branch_name(&origin.run.name, step, fork.more_steps));
    let first = recipe.begin(new, &config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let fork = Fork {
        id: new,
        from: *id,
        step,
        // What its own config names, such as another judge, is kept too.
        state: state.keeping(first.artifacts),
        name: &name,
        config: &config,
        metrics: &recorded,
        trace_id: Some(trace.as_str()),
    };
    runs::fork(&mut creation.tx, &fork).await?;
    let run = runs::find(&mut *creation.tx, new).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{new}")).await?;
    tracing::info!(run.id = %new, run.forked_from = %id, "forked run {id} at step {step} into {new}");
    Ok(answer)
}

/// The config of a run that began with `begun`, with `overrides`. Takes a while.
fn branched(
    lab: &Lab,
    mut document: Value,
    begun: &RunConfig,
    overrides: &BTreeMap<String, Value>,
) -> Result<RunConfig, ApiError> {
    apply_overrides(&mut document, overrides)?;
    let refused = |faults| placed(faults, overrides, None);
    let config = resolve(&document, &lab.registry).map_err(refused)?;
    let mut faults = base_weights::replaced(begun, &config);
    if faults.is_empty() {
        faults.extend(base_weights::changed(&config));
    }
    Faults(faults).or(config).map_err(refused)
}

/// The fork's config with its new datasets and ancestors looked up; refused if any is missing or unsuitable.
async fn settled(
    db: &mut PgConnection,
    lab: &Lab,
    recipe: &dyn Recipe,
    (begun, step, mut config): (&RunConfig, u32, RunConfig),
    overrides: &BTreeMap<String, Value>,
) -> Result<RunConfig, ApiError> {
    let named = new_datasets(recipe, begun, &config)?;
    let mut faults = ancestors::settle(&mut *db, recipe, &mut config, Some((begun, step))).await?;
    let config = match usable::settle(&mut *db, lab, &named, config).await? {
        Ok(config) => {
            faults.extend(rows_asked::faults(db, recipe, &config).await?);
            faults.extend(vocabulary::faults(recipe, &config).await?);
            faults.extend(chat_template::faults(recipe, &config)?);
            Faults(faults).or(config)
        }
        Err(Faults(others)) => Err(Faults([others, faults].concat())),
    };
    config.map_err(|faults| placed(faults, overrides, None))
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

/// The name of a fork: that of its run without what earlier forks added, and where it leaves it. Names have at most 200
/// characters.
fn branch_name(name: &str, step: u32, more_steps: Option<u32>) -> String {
    let (own, _) = name.split_once(" (from step ").unwrap_or((name, ""));
    let (own, _) = own.split_once(" (continued from step ").unwrap_or((own, ""));
    let kept: String = own.chars().take(165).collect();
    match more_steps {
        Some(_) => format!("{kept} (continued from step {step})"),
        None => format!("{kept} (from step {step})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_of_a_fork_is_named_by_the_run_and_its_own_step() {
        assert_eq!(branch_name("trunk", 3, None), "trunk (from step 3)");
        assert_eq!(branch_name("trunk (from step 3)", 5, None), "trunk (from step 5)");
        assert_eq!(branch_name("trunk (from step 3)", 9, Some(10)), "trunk (continued from step 9)");
        assert_eq!(branch_name("trunk (continued from step 9)", 12, None), "trunk (from step 12)");
        assert_eq!(branch_name(&"x".repeat(200), 5, None).chars().count(), 165 + 14);
    }
}
