//! Plans executions and carries the plans out.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{Plan, PlanError, Registry, RunState, StepView, WARM_UP, Want, WorkState};
use lyceum_store::plan::{self, Carried, Locked, ViewCache, carry_out, lock, wanted};
use lyceum_store::{Store, StoreError, executions};
use sqlx::{Connection as _, PgConnection};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::step_log::log_step;
use crate::coordinator::BeginScheduled;
use crate::coordinator::dispatch::Refused;
use crate::log::PROGRESS;

/// The longest pause between two plans of one step.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Plannings in a row that may end with the server's process before the execution is set aside.
const MAX_UNFINISHED: u32 = 2;

/// Plans executions, keeping the view of each between plans.
pub(super) struct Planner {
    /// This process, in the records of plannings that have begun.
    id: Uuid,
    store: Store,
    registry: Registry,
    begin_scheduled: BeginScheduled,
    /// Plans in progress at once: each takes a connection, of which requests need the most.
    turns: Semaphore,
    views: Mutex<HashMap<ExecutionId, ViewCache>>,
    refused: Refused,
}

/// A plan that was carried out.
struct Planned {
    carried: Carried,
    /// The step of a run that it finished.
    finished: Option<u32>,
}

/// Why a plan was not carried out.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the recipe cannot go on: {0}")]
    Plan(#[from] PlanError),
    #[error("{0}")]
    Recipe(#[from] lyceum_core::recipe::UnknownRecipe),
    #[error("the recipe panicked: {0}")]
    Panic(String),
    #[error("the recipe requests rows again that it already has: {0:?}")]
    WantsAgain(Vec<Want>),
    #[error(
        "set aside: the server's process ended {0} times in a row while it planned this. Its log says why (a crash, or no \
         memory left); once that is mended, resume this or delete it"
    )]
    EndsTheServer(u32),
}

impl Fault {
    /// Whether a server of another release may be able to plan it: this one does not know the recipe, or cannot read what is
    /// stored.
    fn is_of_this_release(&self) -> bool {
        match self {
            Self::Store(error) => error.is_unreadable(),
            Self::Recipe(_) | Self::Plan(PlanError::State(_)) => true,
            _ => false,
        }
    }
}

impl Planner {
    pub(super) fn new(store: Store, registry: Registry, begin_scheduled: BeginScheduled) -> Self {
        let connections = store.pool().options().get_max_connections();
        Self {
            id: Uuid::now_v7(),
            store,
            registry,
            begin_scheduled,
            turns: Semaphore::new(at_once(connections)),
            views: Mutex::default(),
            refused: Refused::default(),
        }
    }

    /// Plans `id` until nothing is left to plan. A failing plan fails the execution with the reason; after a database
    /// error the next check tries again. What this release cannot plan is left to servers of others.
    pub(super) async fn plan(&self, id: ExecutionId) {
        if self.refused.lately(id) {
            return;
        }
        loop {
            let started = Instant::now();
            match self.plan_once(id).await {
                Ok(None) => return,
                Ok(Some(carried)) if carried.completed => {
                    self.forget(id);
                    tracing::info!(target: PROGRESS, { execution.id = %id }, "execution {id} completed");
                    return;
                }
                Ok(Some(carried)) if carried.finished => {}
                // Items that finish meanwhile are planned together, so planning takes at most a quarter of the time.
                Ok(Some(_)) => tokio::time::sleep((started.elapsed() * 3).min(LONGEST_PAUSE)).await,
                Err(Fault::Store(error)) if error.is_transient() => {
                    tracing::warn!(execution.id = %id, %error, "cannot plan execution {id} now");
                    return;
                }
                Err(fault) if fault.is_of_this_release() => {
                    self.forget(id);
                    self.refused.refuse(self.store.pool(), id, &fault.to_string()).await;
                    return;
                }
                Err(fault) => {
                    self.forget(id);
                    tracing::error!(execution.id = %id, error = %fault, "cannot plan execution {id}");
                    if let Err(error) = executions::fail(self.store.pool(), id, &fault.to_string()).await {
                        tracing::warn!(execution.id = %id, %error, "cannot record the failure of execution {id}");
                    }
                    return;
                }
            }
        }
    }

    /// Plans `id` once. `None` if it is not due, or another process has it.
    async fn plan_once(&self, id: ExecutionId) -> Result<Option<Carried>, Fault> {
        // Never closed.
        let _turn = self.turns.acquire().await;
        loop {
            let Some(mut reserved) = plan::reserve(self.store.pool(), id).await? else { return Ok(None) };
            let planned = self.plan_reserved(reserved.connection(), id).await;
            let released = reserved.release().await;
            let planned = planned?;
            released?;
            if let Some(Planned { finished: Some(step), .. }) = planned {
                log_step(self.store.pool(), &self.registry, id, step).await;
            }
            let planned = planned.map(|planned| planned.carried);
            // What became due while it was reserved, and was told to a process that could not have it.
            if planned.is_some() || !plan::due(self.store.pool()).await?.contains(&id) {
                return Ok(planned);
            }
        }
    }

    /// Planning is recorded first, so that an execution that ends the process is known afterwards.
    async fn plan_reserved(&self, db: &mut PgConnection, id: ExecutionId) -> Result<Option<Planned>, Fault> {
        let planned = match plan::begin(&mut *db, id, self.id).await? {
            None => return Ok(None),
            Some(unfinished) if unfinished >= MAX_UNFINISHED => Err(Fault::EndsTheServer(unfinished)),
            Some(_) => self.plan_recorded(db, id).await,
        };
        if !matches!(planned, Ok(Some(_))) {
            plan::give_up(db, id, self.id).await?;
        }
        planned
    }

    async fn plan_recorded(&self, db: &mut PgConnection, id: ExecutionId) -> Result<Option<Planned>, Fault> {
        let mut tx = db.begin().await.map_err(StoreError::from)?;
        let Some(locked) = lock(&mut tx, id).await? else { return Ok(None) };
        let started = Instant::now();
        let recipe = self.registry.planner(&locked.state.config.recipe)?;
        let mut cache = self.take(id);
        cache.refresh(&mut tx, id, locked.state.step).await?;
        let mut plan = loop {
            let (plan, view) = ask(Arc::clone(&recipe), &locked, std::mem::take(&mut cache.view)).await?;
            cache.view = view;
            let missing: Vec<Want> = plan.wants.iter().filter(|want| !has(&cache.view, want)).cloned().collect();
            if missing.is_empty() && !plan.wants.is_empty() {
                return Err(Fault::WantsAgain(plan.wants));
            }
            if missing.is_empty() {
                break plan;
            }
            wanted(&mut tx, &missing, &mut cache.view).await?;
        };
        plan.work.retain(|item| !cache.view.work.contains_key(&item.key));
        plan.records.retain_new(&mut cache.written);
        let carried = carry_out(&mut tx, &locked, &plan, started.elapsed().as_secs_f64()).await?;
        if let Some(next) = plan.finish.as_ref().filter(|_| locked.is_run) {
            self.measure(&mut tx, &locked, next).await?;
        }
        plan::end(&mut tx, id).await?;
        tx.commit().await.map_err(StoreError::from)?;
        cache.view.written();
        for item in plan.work {
            cache.view.work.insert(item.key, WorkState::Open);
        }
        self.views.lock().unwrap_or_else(PoisonError::into_inner).insert(id, cache);
        tracing::debug!(
            execution.id = %id,
            step = locked.state.step,
            work.new = carried.new_work,
            seconds = started.elapsed().as_secs_f64(),
            "planned",
        );
        Ok(Some(Planned { finished: (carried.finished && locked.is_run).then_some(locked.state.step), carried }))
    }

    /// Begins the benchmarks that are due after this step, as they also are at the end of a warm-up and of a budget. `next`: the
    /// state before the next step.
    async fn measure(&self, tx: &mut PgConnection, locked: &Locked, next: &RunState) -> Result<(), StoreError> {
        let (config, done) = (&locked.state.config, locked.state.step + 1);
        let schedule = config.benchmarks.as_ref();
        let is_end = next.completed || locked.state.stage == WARM_UP && next.stage != WARM_UP;
        if schedule.is_some_and(|schedule| is_end || schedule.is_due(done, config.steps)) {
            let from = (self.store.pool(), &self.registry);
            (self.begin_scheduled)(tx, from, locked.state.run, config, done).await?;
        }
        Ok(())
    }

    /// The view of `id` so far. It is put back only after its plan was carried out; otherwise the next plan starts from
    /// the rows again.
    fn take(&self, id: ExecutionId) -> ViewCache {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).remove(&id).unwrap_or_default()
    }

    fn forget(&self, id: ExecutionId) {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// Drops the views of executions that run no longer: most end elsewhere, by a request, a worker or another server.
    pub(super) async fn forget_ended(&self) {
        let held: Vec<ExecutionId> = {
            let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
            views.keys().copied().collect()
        };
        if held.is_empty() {
            return;
        }
        match plan::running(self.store.pool(), &held).await {
            Ok(running) => held.iter().filter(|id| !running.contains(id)).for_each(|id| self.forget(*id)),
            Err(error) => tracing::debug!(%error, "cannot check which executions have ended"),
        }
    }
}

/// How many plans may be in progress: a quarter of the connections.
fn at_once(connections: u32) -> usize {
    (connections as usize / 4).max(1)
}

/// Asks the recipe for a plan on a blocking thread, and returns the view.
async fn ask(
    recipe: Arc<dyn lyceum_core::recipe::Planner>,
    locked: &Locked,
    view: StepView,
) -> Result<(Plan, StepView), Fault> {
    let state: RunState = locked.state.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let plan = catch_unwind(AssertUnwindSafe(|| recipe.plan(&state, &view)));
        (plan, view)
    });
    let (plan, view) = asked.await.map_err(|error| Fault::Panic(error.to_string()))?;
    match plan {
        Ok(plan) => {
            let plan = plan?;
            for item in &plan.work {
                item.key.check().map_err(PlanError::from)?;
            }
            Ok((plan, view))
        }
        Err(panic) => Err(Fault::Panic(said(panic.as_ref()))),
    }
}

fn has(view: &StepView, want: &Want) -> bool {
    match want {
        Want::Problem(id) => view.problems.contains_key(id),
        Want::Row(dataset, index) => view.rows.contains_key(&(*dataset, *index)),
        Want::Reward(digest) => view.rewards.contains_key(digest),
        Want::Tag(dataset, tag) => view.tags.contains_key(&(*dataset, tag.clone())),
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a word".to_owned())
}

#[cfg(test)]
mod tests_with_database {
    use super::*;
    use lyceum_core::config;
    use lyceum_store::runs::{self, NewRun};

    async fn begun(store: &Store, registry: &Registry, id: u128) -> ExecutionId {
        let document = serde_json::json!({
            "recipe": "azr", "seed": 7, "steps": 3, "populations": { "main": {
                "base_model": { "name": "tiny" },
                "lora": { "r": 4, "lora_alpha": 8.0, "target_modules": ["q_proj"] },
                "members": [{ "roles": ["proposer", "solver"], "count": 1 }],
            }},
        });
        let config = config::resolve(&document, registry).expect("a config");
        let recipe = registry.get(&config.recipe).expect("a recipe");
        let state = recipe.begin(ExecutionId(Uuid::from_u128(id)), &config).expect("a state");
        let new = NewRun {
            name: "planned",
            experiment: None,
            preset: None,
            tags: &[],
            note: "",
            config: &config,
            state: &state,
            metrics: &recipe.recorded_metrics(&config).expect("metrics"),
            trace_id: None,
            forked_from: None,
        };
        let mut tx = store.pool().begin().await.expect("a transaction");
        runs::begin(&mut tx, &new).await.expect("a run");
        tx.commit().await.expect("a commit");
        state.run
    }

    #[tokio::test]
    async fn the_views_of_runs_that_ended_elsewhere_are_dropped() {
        let cluster = lyceum_postgres::TestCluster::shared().await.expect("a cluster");
        let database = cluster.database().await.expect("a database");
        let store = Store::connect(database.url(), 4).await.expect("a store");
        store.migrate().await.expect("the tables");
        let registry = Registry::shipped();
        let [one, other] = [1, 2].map(|id| begun(&store, &registry, id));
        let (one, other) = (one.await, other.await);
        let planner = Planner::new(store.clone(), registry, |_, _, _, _, _| Box::pin(std::future::ready(Ok(()))));
        for id in [one, other] {
            planner.plan(id).await;
        }
        let held = || {
            let views = planner.views.lock().expect("no panic");
            let mut held: Vec<ExecutionId> = views.keys().copied().collect();
            held.sort();
            held
        };
        planner.forget_ended().await;
        assert_eq!(held(), [one, other]);
        executions::cancel(store.pool(), other).await.expect("cancelled");
        planner.forget_ended().await;
        assert_eq!(held(), [one]);
    }

    #[test]
    fn plans_take_a_quarter_of_the_connections() {
        assert_eq!([1, 4, 7, 8, 32].map(at_once), [1, 1, 1, 2, 8]);
    }
}
