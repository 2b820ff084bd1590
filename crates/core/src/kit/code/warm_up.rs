//! A warm-up: the first steps of a run, which reward only form, for a base that proposes and answers in the right form
//! too rarely to learn from what it gets right.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attempt, Judged};
use crate::contract::metric::{mean, share};
use crate::contract::{RunState, WARM_UP};

/// Steps at the beginning of a run that reward form instead of right answers and difficult problems. They count as steps
/// of the run, in the stage `warm-up`; their problems enter the pool but not the archive, and members are measured at
/// their end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WarmUp {
    /// What the steps reward.
    pub reward: WarmUpReward,
    /// The warm-up ends after a step in which this share of the proposals is valid and this share of the attempts has the
    /// form.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub until: f64,
    /// It ends after this many steps in any case.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_steps: u32,
}

/// The reward of a warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpReward {
    /// 1 for a valid proposal and for an answer in the form that the prompt asks for, right or wrong; else −1.
    #[default]
    Form,
}

impl Default for WarmUp {
    fn default() -> Self {
        Self { reward: WarmUpReward::Form, until: 0.8, max_steps: 20 }
    }
}

impl WarmUp {
    /// The stage of a run's first step.
    pub(crate) fn first_stage(warm_up: Option<Self>) -> &'static str {
        if warm_up.is_some() { WARM_UP } else { "" }
    }

    /// The stage after a step of `run` with these proposals and attempts at earlier problems.
    pub(crate) fn next_stage(
        warm_up: Option<Self>,
        run: &RunState,
        judged: &[(Judged, f32)],
        practice: &[Attempt],
    ) -> &'static str {
        let Some(Self { until, max_steps, .. }) = warm_up.filter(|_| run.stage == WARM_UP) else { return "" };
        let valid = mean(judged.iter().map(|(judged, _)| share(judged.problem.is_some())));
        let attempts = judged.iter().flat_map(|(judged, _)| &judged.attempts).chain(practice);
        let in_form = mean(attempts.map(|attempt| share(attempt.is_in_form())));
        // Without attempts the mean is not a number, and the warm-up goes on.
        let is_over = run.step + 1 >= max_steps || (valid >= until && in_form >= until);
        if is_over { "" } else { WARM_UP }
    }
}

/// The reward of form, for a valid proposal or an answer in the form that its prompt asks for.
pub(super) fn form_reward(has_form: bool) -> f32 {
    if has_form { 1.0 } else { -1.0 }
}
