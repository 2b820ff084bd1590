//! The stopping rule of an experiment.

use lyceum_core::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api_error::ApiError;

/// When an experiment has enough seeds: a sequential test of the difference of each arm's held-out accuracy from the first
/// arm's. When it has decided about every arm, sweeps begin no more runs.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stopping {
    /// `false` switches the rule off.
    #[serde(default = "on")]
    on: bool,
    /// The share of such tests that decide for `h1` although the difference is `h0`.
    #[serde(default = "error")]
    #[schemars(range(min = 0.0001, max = 0.4))]
    alpha: f64,
    /// The share of such tests that decide for `h0` although the difference is `h1`.
    #[serde(default = "error")]
    #[schemars(range(min = 0.0001, max = 0.4))]
    beta: f64,
    /// A difference that is not worth having, as a share: 0.02 is two percentage points.
    #[serde(default)]
    #[schemars(range(min = -1.0, max = 1.0))]
    h0: f64,
    /// A difference that is.
    #[serde(default = "worthwhile")]
    #[schemars(range(min = -1.0, max = 1.0))]
    h1: f64,
}

fn on() -> bool {
    true
}

fn error() -> f64 {
    0.05
}

fn worthwhile() -> f64 {
    0.02
}

impl Stopping {
    /// `rule` as the database has it: none leaves it as it is, and none within switches it off. `at`: where it is in the request.
    ///
    /// # Errors
    /// `h1` is not above `h0`.
    pub(crate) fn stored(rule: Option<&Self>, at: &str) -> Result<Option<Option<Value>>, ApiError> {
        let Some(rule) = rule else { return Ok(None) };
        if !rule.on {
            return Ok(Some(None));
        }
        if rule.h1 <= rule.h0 {
            let detail = format!("{} is not above h0, {}; a larger one is valid", rule.h1, rule.h0);
            return Err(ApiError::invalid(vec![Fault::new(format!("{at}/h1"), detail)]));
        }
        let (alpha, beta, h0, h1) = (rule.alpha, rule.beta, rule.h0, rule.h1);
        Ok(Some(Some(serde_json::json!({"alpha": alpha, "beta": beta, "h0": h0, "h1": h1}))))
    }
}
