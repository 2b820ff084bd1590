//! Checks of every config of a plan before any run begins.

use lyceum_core::{config::RunConfig, fault::Fault};
use lyceum_store::StoreError;
use serde_json::{Map, Value};
use std::sync::Arc;

use super::{
    file::{Source, SweepPlan},
    outlook::Outlook,
};
use crate::{
    api::{CreateRun, configured, settle_datasets},
    api_error::ApiError,
    contract::document::apart,
    lab::Lab,
};

/// Configs checked at a time, so that the checks of others get their turn in between.
const AT_ONCE: usize = 64;

/// Resolves the config of every arm at every point, and works out how long all runs take. Nothing is written.
///
/// # Errors
/// The faults of the first configs that have some, each where the plan has the value.
pub(crate) async fn check(
    lab: &Lab,
    plan: &SweepPlan,
    source: Source,
    unused: Vec<String>,
) -> Result<Outlook, ApiError> {
    let mut outlook = Outlook::new(plan, unused);
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    let points = plan.points();
    for arm in plan.arms.keys() {
        let at = |error| placed(error, plan, arm, source);
        let requests = points.iter().map(|point| {
            let point: Map<String, Value> = point.clone().into_iter().collect();
            plan.request(arm, &point, plan.seeds[0], None)
        });
        let requests: Vec<CreateRun> = requests.collect();
        let requests = Arc::new(requests);
        for from in (0..requests.len()).step_by(AT_ONCE) {
            let to = (from + AT_ONCE).min(requests.len());
            let (shared, asked) = (lab.clone(), Arc::clone(&requests));
            let resolved = apart(move || {
                let part = asked[from..to].iter();
                part.map(|request| configured(&shared, request))
                    .collect::<Result<Vec<RunConfig>, ApiError>>()
            });
            let resolved = resolved.await?.map_err(at)?;
            for (config, request) in resolved.into_iter().zip(&requests[from..to]) {
                let recipe = lab
                    .registry
                    .get(&config.recipe)
                    .map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
                let steps = config.steps;
                let name = config.recipe.clone();
                settle_datasets(&mut tx, lab, recipe.as_ref(), config, request)
                    .await
                    .map_err(at)?;
                outlook
                    .count(lab.store.pool(), arm, &name, request.preset.as_deref(), steps)
                    .await?;
            }
        }
    }
    tx.rollback().await.map_err(StoreError::from)?;
    Ok(outlook)
}

/// A fault of a run's request, located in the plan.
fn placed(error: ApiError, plan: &SweepPlan, arm: &str, source: Source) -> ApiError {
    if error.errors().is_empty() {
        return error;
    }
    let faults = error.errors().iter().map(|fault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        Fault::new(
            format!("{}{}", source.pointer(), plan.place(arm, pointer)),
            fault.detail.clone(),
        )
    });
    ApiError::invalid(faults.collect())
}
