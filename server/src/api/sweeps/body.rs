//! Requests about sweeps.

use lyceum_core::fault::Fault;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::{bounds, document::RequestBody},
    sweep::{Read, Source, SweepPlan},
};

/// A sweep to begin, from either a file or a plan.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSweep {
    /// The text of an experiment's file, in TOML (`configs/experiments`).
    #[schemars(length(max = 500_000))]
    file: Option<String>,
    /// The same as an object: `title`, `seeds`, `arms` (each with a `preset` or a `config`, and `overrides`), and if wanted
    /// `description`, `base`, `common`, `grid`, `concurrency` and `budget` (`hours`, `minutes`).
    #[schema(value_type = Option<Object>)]
    plan: Option<Map<String, Value>>,
    /// The experiment's name, instead of the title.
    #[schemars(length(min = 1, max = bounds::NAME))]
    pub(super) name: Option<String>,
    /// How many runs are in progress at once, instead of what the plan says.
    #[schemars(range(min = 1, max = 64))]
    pub(super) concurrency: Option<u32>,
    /// The number of runs, if there are more than 100.
    pub(super) confirm_runs: Option<u64>,
}

/// Changes to a sweep.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSweep {
    /// How many runs are in progress at once.
    #[schemars(range(min = 1, max = 64))]
    pub(super) concurrency: Option<u32>,
    /// Seconds since it was created after which no more runs begin.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub(super) budget_seconds: Option<f64>,
}

impl RequestBody for CreateSweep {}
impl RequestBody for UpdateSweep {}

impl CreateSweep {
    /// The plan, and where it is in the request.
    pub(super) fn read(&self) -> Result<(Source, Read), ApiError> {
        let (source, read) = match (&self.file, &self.plan) {
            (Some(text), None) => (Source::File, SweepPlan::from_toml(text)),
            (None, Some(plan)) => (
                Source::Plan,
                SweepPlan::from_value(Value::Object(plan.clone()), Source::Plan),
            ),
            (Some(_), Some(_)) => {
                let detail = "there is also a file; send only one of the two";
                return Err(ApiError::invalid(vec![Fault::new("/plan", detail)]));
            }
            (None, None) => {
                let detail = "send a `file` (TOML) or a `plan` (an object)";
                return Err(ApiError::invalid(vec![Fault::new("", detail)]));
            }
        };
        Ok((source, read?))
    }
}
