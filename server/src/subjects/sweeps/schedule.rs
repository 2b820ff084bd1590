//! When the runs of a sweep begin, and how long they will take.

use actix_web::http::StatusCode;
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_store::sweeps::{self, PlannedRun, Progress};
use lyceum_store::{StoreError, experiments};
use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::document::apart;
use crate::estimate::like_pace;
use crate::lab::Lab;
use crate::subjects::experiments::arms;
use crate::subjects::runs::create::{self, configured, settle_datasets};
use crate::subjects::sweeps::file::{Source, SweepPlan};

/// What came of looking at a sweep.
enum Looked {
    /// A run began, or could not; there may be more to do.
    More,
    /// Nothing is to be done now.
    Done,
}

/// Looks every `every` whether runs can begin, until `stop`.
pub(crate) async fn run(lab: Lab, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let ids = match sweeps::running(lab.store.pool()).await {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "cannot look for sweeps");
                continue;
            }
        };
        for id in ids {
            while !stop.is_cancelled() {
                match look(&lab, id).await {
                    Ok(Looked::More) => {}
                    Ok(Looked::Done) => break,
                    Err(error) => {
                        tracing::warn!(sweep.id = %id, %error, "cannot go on with sweep {id} now");
                        break;
                    }
                }
            }
        }
    }
}

/// Begins at most one run of a sweep.
async fn look(lab: &Lab, id: Uuid) -> Result<Looked, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    if !sweeps::lock(&mut tx, id).await? {
        return Ok(Looked::Done);
    }
    let progress = sweeps::progress(&mut tx, id).await?;
    let next = sweeps::next(&mut tx, id).await?;
    let looked = match next {
        None if progress.open == 0 => {
            sweeps::complete(&mut tx, id).await?;
            tracing::info!(sweep.id = %id, "sweep {id} completed");
            Looked::Done
        }
        None => Looked::Done,
        Some(_) if progress.open >= i64::from(progress.concurrency) => Looked::Done,
        Some(_) if progress.budget_seconds.is_some_and(|budget| progress.seconds >= budget) => {
            sweeps::pause(&mut tx, id, Some("its budget is spent; raise it to continue")).await?;
            Looked::Done
        }
        Some(_) if has_decided(lab, &progress).await? => {
            sweeps::pause(&mut tx, id, Some("its stopping rule has decided; switch the rule off to continue")).await?;
            Looked::Done
        }
        Some(planned) => match begin(&mut tx, lab, &progress, &planned).await {
            Ok(run) => {
                sweeps::begun(&mut tx, id, planned.ordinal, run).await?;
                tracing::info!(sweep.id = %id, run.id = %run, "sweep {id} began run {run}");
                Looked::More
            }
            Err(error) if may_pass(&error) => return Err(error),
            Err(error) => {
                tx.rollback().await.map_err(StoreError::from)?;
                return refuse(lab, id, planned.ordinal, &error).await;
            }
        },
    };
    tx.commit().await.map_err(StoreError::from)?;
    Ok(looked)
}

/// Whether the experiment's stopping rule is on and has decided.
async fn has_decided(lab: &Lab, progress: &Progress) -> Result<bool, ApiError> {
    let db = lab.store.pool();
    let experiment = experiments::find(db, ExperimentId(progress.experiment_id)).await?;
    arms::has_decided(db, &experiment).await
}

/// Whether the same attempt may succeed later.
fn may_pass(error: &ApiError) -> bool {
    error.status().is_server_error() || error.status() == StatusCode::TOO_MANY_REQUESTS
}

/// Notes why a run cannot begin, and goes on with the others.
async fn refuse(lab: &Lab, id: Uuid, ordinal: u32, error: &ApiError) -> Result<Looked, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    if !sweeps::lock(&mut tx, id).await? {
        return Ok(Looked::Done);
    }
    sweeps::failed_to_begin(&mut tx, id, ordinal, error.detail()).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(Looked::More)
}

async fn begin(
    tx: &mut PgConnection,
    lab: &Lab,
    progress: &Progress,
    planned: &PlannedRun,
) -> Result<ExecutionId, ApiError> {
    let read = SweepPlan::from_value(progress.plan.clone(), Source::Plan)?;
    let point: Map<String, Value> = planned.point.as_object().cloned().unwrap_or_default();
    let request = read.plan.request(&planned.arm, &point, planned.seed, Some(&planned.name));
    let request = Arc::new(request);
    let (shared, asked) = (lab.clone(), Arc::clone(&request));
    let config = apart(move || configured(&shared, &asked)).await??;
    let recipe = lab.registry.get(&config.recipe).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let config = settle_datasets(&mut *tx, lab, recipe.as_ref(), config, &request).await?;
    create::begin(tx, lab, &config, &request, Some(ExperimentId(progress.experiment_id)), None).await
}

/// The runs, steps and time of a plan.
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

/// The runs, steps and time of an arm.
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
    /// The run that `step_seconds` is from.
    pub(crate) like: Option<Uuid>,
    /// Seconds of all its runs, one after the other.
    pub(crate) seconds: Option<f64>,
}

/// A run, and the median seconds of its steps.
pub(crate) type Like = (Uuid, f64);

impl Outlook {
    /// The outlook of `plan`, to which its runs are to be added.
    pub(crate) fn new(plan: &SweepPlan, unused: Vec<String>) -> Self {
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
            budget_seconds: plan.budget.map(crate::subjects::sweeps::file::Budget::seconds),
            unused,
            seeds: plan.seeds.len() as u64,
            paces: HashMap::new(),
        }
    }

    /// Adds the runs of a point of `arm`, one for each seed.
    pub(crate) async fn count(
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
        assert_eq!((outlook.runs, outlook.run_seconds, outlook.seconds), (2, Some(60.0), Some(30.0)));
        assert_eq!(outlook.budget_seconds, Some(5400.0));
        outlook.add("b", None, 10);
        assert_eq!((outlook.runs, outlook.run_seconds, outlook.seconds), (4, None, None));
        assert_eq!((outlook.arms[0].seconds, outlook.arms[1].seconds), (Some(60.0), None));
    }
}
