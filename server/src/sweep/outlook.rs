//! How many runs a plan has, and how long they take at the pace of earlier ones.

use serde::Serialize;
use sqlx::PgPool;
use std::collections::HashMap;
use utoipa::ToSchema;
use uuid::Uuid;

use super::file::SweepPlan;
use crate::{api_error::ApiError, estimate::like_pace};

/// What a plan comes to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Outlook {
    /// Runs, all together.
    pub(crate) runs: u64,
    /// How many of them are in progress at once.
    pub(crate) concurrency: u32,
    /// By arm.
    pub(crate) arms: Vec<ArmOutlook>,
    /// Seconds of all runs, one after the other; none if an arm's pace is unknown.
    pub(crate) run_seconds: Option<f64>,
    /// Seconds until the last run ends, if runs in progress together are as fast as the earlier ones were.
    pub(crate) seconds: Option<f64>,
    /// Seconds after which no more runs begin.
    pub(crate) budget_seconds: Option<f64>,
    /// Parts of the file that are for `script/results` alone.
    pub(crate) unused: Vec<String>,
    #[serde(skip)]
    seeds: u64,
    #[serde(skip)]
    paces: HashMap<(String, Option<String>), Option<Like>>,
}

/// What an arm comes to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ArmOutlook {
    /// Its name.
    pub(crate) arm: String,
    /// Its runs.
    pub(crate) runs: u64,
    /// Steps of all its runs.
    pub(crate) steps: u64,
    /// Median seconds of a step of the newest run like its own; none if there is no such run.
    pub(crate) step_seconds: Option<f64>,
    /// That run.
    pub(crate) like: Option<Uuid>,
    /// Seconds of all its runs, one after the other.
    pub(crate) seconds: Option<f64>,
}

/// A run, and the median seconds of its steps.
pub(crate) type Like = (Uuid, f64);

impl Outlook {
    /// The outlook of `plan`, to which its runs are to be added.
    pub(super) fn new(plan: &SweepPlan, unused: Vec<String>) -> Self {
        let arm = |arm: &String| ArmOutlook {
            arm: arm.clone(),
            runs: 0,
            steps: 0,
            step_seconds: None,
            like: None,
            seconds: Some(0.0),
        };
        Self {
            runs: 0,
            concurrency: plan.concurrency.unwrap_or(1),
            arms: plan.arms.keys().map(arm).collect(),
            run_seconds: Some(0.0),
            seconds: Some(0.0),
            budget_seconds: plan.budget.map(super::file::Budget::seconds),
            unused,
            seeds: plan.seeds.len() as u64,
            paces: HashMap::new(),
        }
    }

    /// Adds the runs of a point of `arm`, one for each seed.
    pub(super) async fn count(
        &mut self,
        db: &PgPool,
        arm: &str,
        recipe: &str,
        preset: Option<&str>,
        steps: u32,
    ) -> Result<(), ApiError> {
        let key = (recipe.to_owned(), preset.map(str::to_owned));
        let pace = match self.paces.get(&key) {
            Some(known) => *known,
            None => {
                let found = like_pace(db, recipe, preset).await?;
                self.paces.insert(key, found);
                found
            }
        };
        self.add(arm, pace, steps);
        Ok(())
    }

    fn add(&mut self, arm: &str, pace: Option<Like>, steps: u32) {
        let steps = u64::from(steps) * self.seeds;
        let seconds = pace.map(|(_, step)| step * steps as f64);
        let sum = |total: Option<f64>| Some(total? + seconds?);
        self.runs += self.seeds;
        self.run_seconds = sum(self.run_seconds);
        self.seconds = self.run_seconds.map(|all| all / f64::from(self.concurrency));
        if let Some(own) = self.arms.iter_mut().find(|own| own.arm == arm) {
            own.runs += self.seeds;
            own.steps += steps;
            own.step_seconds = pace.map(|(_, step)| step);
            own.like = pace.map(|(run, _)| run);
            own.seconds = sum(own.seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_steps_at_the_known_pace_and_unknown_if_any_arm_is() {
        let text = "title = 't'\nseeds = [1, 2]\nconcurrency = 2\n[budget]\nhours = 1\nminutes = 30\n[arms.a]\npreset = 'x'\n\
            [arms.b]\npreset = 'y'\n";
        let plan = SweepPlan::from_toml(text).ok().unwrap().plan;
        let mut outlook = Outlook::new(&plan, Vec::new());
        outlook.add("a", Some((Uuid::nil(), 3.0)), 10);
        assert_eq!(
            (outlook.runs, outlook.run_seconds, outlook.seconds),
            (2, Some(60.0), Some(30.0))
        );
        assert_eq!(outlook.budget_seconds, Some(5400.0));
        outlook.add("b", None, 10);
        assert_eq!((outlook.runs, outlook.run_seconds, outlook.seconds), (4, None, None));
        assert_eq!((outlook.arms[0].seconds, outlook.arms[1].seconds), (Some(60.0), None));
    }
}
