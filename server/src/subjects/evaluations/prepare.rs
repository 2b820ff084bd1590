//! Evaluations: looks up everything a spec names and resolves it to the config of its planner, one file per type.

mod benchmark;
mod cross_play;
mod dataset_check;
mod frozen_side;
mod goalposts;
mod operator_retention;
mod regenerate;

pub(crate) use benchmark::{measure, named_dataset_faults};

use lyceum_core::config::RunConfig;
use lyceum_core::evaluation::EvaluationSpec;
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Planner, Registry};
use lyceum_store::runs::{self, RunDetail};
use lyceum_store::{Store, StoreError};

use crate::api_error::ApiError;

/// Why an evaluation cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unprepared {
    /// Something requested does not exist or does not fit.
    #[error(transparent)]
    Faults(#[from] Faults),
    /// A database error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Unprepared> for ApiError {
    fn from(error: Unprepared) -> Self {
        match error {
            Unprepared::Faults(faults) => faults.into(),
            Unprepared::Store(error) => error.into(),
        }
    }
}

/// What the config of an evaluation depends on besides its spec.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) store: &'a Store,
    pub(crate) registry: &'a Registry,
    pub(crate) planner: &'a dyn Planner,
    pub(crate) seed: u64,
    pub(crate) priority: i16,
}

/// A run whose versions are measured.
struct MeasuredRun {
    id: ExecutionId,
    name: String,
    config: RunConfig,
    /// Finished steps.
    steps: u32,
}

impl MeasuredRun {
    /// The run `id`, or why it cannot be measured.
    async fn find(request: &Request<'_>, id: ExecutionId) -> Result<Result<Self, String>, StoreError> {
        let RunDetail { run, config, .. } = match runs::find(request.store.pool(), id).await {
            Err(error @ StoreError::NotFound { .. }) => return Ok(Err(error.to_string())),
            found => found?,
        };
        Ok(match serde_json::from_value(config) {
            Ok(config) => Ok(Self { id, name: run.name, config, steps: run.step.max(0).cast_unsigned() }),
            Err(error) => Err(format!("the config of run {id} cannot be read: {error}")),
        })
    }
}

/// The resolved config of the evaluation that `spec` describes.
///
/// # Errors
/// Everything in the spec that does not exist or does not fit, with pointers that begin at `/spec`.
pub(crate) async fn configured(request: &Request<'_>, spec: &EvaluationSpec) -> Result<RunConfig, Unprepared> {
    match spec {
        EvaluationSpec::Benchmark(spec) | EvaluationSpec::MajorityVote(spec) => {
            benchmark::configured(request, spec).await
        }
        EvaluationSpec::CrossPlay(spec) => cross_play::configured(request, spec).await,
        EvaluationSpec::DatasetCheck(spec) => dataset_check::configured(request, spec).await,
        EvaluationSpec::FrozenSide(spec) => frozen_side::configured(request, spec).await,
        EvaluationSpec::Goalposts(spec) => goalposts::configured(request, spec).await,
        EvaluationSpec::Regenerate(spec) => regenerate::configured(request, spec).await,
        EvaluationSpec::OperatorRetention(spec) => operator_retention::configured(request, spec).await,
    }
}

fn fault(pointer: &str, detail: impl Into<String>) -> Unprepared {
    Faults(vec![Fault::new(pointer, detail.into())]).into()
}
