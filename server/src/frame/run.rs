//! The name, state and navigation above every page of a run, and other runs to choose from.

use lyceum_core::config::RunConfig;
use lyceum_core::fault::Fault;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Capabilities;
use lyceum_core::work::Sampler;
use lyceum_store::executions::State;
use lyceum_store::page::{Order, Window};
use lyceum_store::rewards;
use lyceum_store::runs::{self, Run, RunDetail, RunFilter, RunSort};
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::places::{Navigation, Tab};
use crate::frame::view::View;
use crate::lab::Lab;

/// A run as `run/frame.html` shows it. In the page's JSON it is the run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunFrame {
    /// The run in full.
    #[serde(flatten)]
    pub(crate) detail: RunDetail,
    #[serde(skip)]
    pub(crate) navigation: Navigation,
    /// What the run's recipe has.
    #[serde(skip)]
    pub(crate) capabilities: Capabilities,
    /// Warnings about its config.
    #[serde(skip)]
    pub(crate) warnings: Vec<Fault>,
    /// The run it was forked from, which may have been removed since.
    #[serde(skip)]
    pub(crate) origin: Option<Origin>,
}

/// Where a fork comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) run: Uuid,
    pub(crate) name: String,
    /// The first step that is the fork's own.
    pub(crate) step: i32,
}

impl RunFrame {
    /// Reads the run `id` for its page `open`.
    ///
    /// # Errors
    /// 404 if there is no such run, or if its recipe has nothing to show on this page.
    pub(crate) async fn load(lab: &Lab, id: ExecutionId, open: Tab) -> Result<Self, ApiError> {
        let detail = runs::find(lab.store.pool(), id).await?;
        let recipe = detail.run.recipe.as_str();
        // The rows of a recipe that this server lacks may be of any sort.
        let (mut capabilities, mut warnings) = match lab.registry.get(recipe) {
            Ok(recipe) => {
                let config = RunConfig::deserialize(&detail.config).ok();
                let warnings = config.and_then(|config| recipe.warnings(&config).ok());
                (recipe.capabilities(), warnings.unwrap_or_default())
            }
            Err(_) => (Capabilities::ALL, Vec::new()),
        };
        let removed = rewards::removed_of(lab.store.pool(), &detail.config).await?;
        warnings.extend(removed.into_iter().map(|(digest, at)| {
            Fault::new("/parameters", format!("reward {digest} was removed on {}", at.format("%Y-%m-%d")))
        }));
        // A single member in both roles plays no matchups, whatever its recipe could do.
        let is_over = detail.run.state == State::Completed;
        capabilities.rates &= !(is_over && detail.run.matchups == 0);
        if let Some(why) = open.absence(capabilities) {
            let detail = format!("`{}` is a run of recipe `{recipe}`, which has no such page: {why}", detail.run.name);
            return Err(ApiError::not_found(detail));
        }
        Ok(Self {
            navigation: Navigation::of(detail.run.id, open, capabilities),
            capabilities,
            warnings,
            origin: origin(lab.store.pool(), &detail.run).await?,
            detail,
        })
    }

    /// The run as lists show it.
    pub(crate) fn run(&self) -> &Run {
        &self.detail.run
    }

    /// Why the same config and seed may give other rows, if they may.
    pub(crate) fn irreproducible(&self) -> Option<&'static str> {
        let is_served = self.detail.config["compute"]["sampler"] == Sampler::Served.name();
        match (self.run().reproducible, is_served) {
            (true, _) => None,
            (false, true) => {
                Some("a served sampler generates for it, and its arithmetic depends on what else it is doing")
            }
            (false, false) => Some("a batch was halved because memory ran out, or the device is not deterministic"),
        }
    }

    /// Progress in per cent.
    pub(crate) fn percent(&self) -> i64 {
        let run = self.run();
        (i64::from(run.step) * 100 / i64::from(run.steps.max(1))).clamp(0, 100)
    }

    /// The current step, or the last one of a completed run.
    pub(crate) fn last_step(&self) -> i32 {
        let run = self.run();
        (run.step - i32::from(run.state == State::Completed)).max(0)
    }

    /// The step before which a fork branches off by default: the current or the last one.
    pub(crate) fn fork_step(&self) -> i32 {
        let run = self.run();
        run.step.min(run.steps - 1).max(0)
    }

    /// Steps offered to continue for: a quarter of those it had.
    pub(crate) fn more_steps(&self) -> i32 {
        (self.run().steps / 4).max(1)
    }

    /// Whether it has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.run().state.is_open()
    }
}

async fn origin(db: &PgPool, run: &Run) -> Result<Option<Origin>, ApiError> {
    let (Some(from), Some(step)) = (run.forked_from, run.forked_at_step) else { return Ok(None) };
    let name = runs::names(db, &[from]).await?.pop().map(|(_, name)| name);
    Ok(name.map(|name| Origin { run: from, name, step }))
}

/// Recent runs to choose from.
const CHOICES: u32 = 50;

pub(crate) struct TwoRuns {
    /// The chosen ones: none, one or two.
    pub(crate) shown: Vec<Run>,
    /// Recent runs and the chosen ones.
    pub(crate) choices: Vec<Run>,
}

impl TwoRuns {
    pub(crate) async fn read(
        view: &View,
        db: &PgPool,
        left: Option<Uuid>,
        right: Option<Uuid>,
    ) -> Result<Self, ApiError> {
        let mut choices = newest(view, db, CHOICES).await?;
        let mut shown = Vec::new();
        for id in [left, right].into_iter().flatten() {
            shown.push(runs::find(db, ExecutionId(id)).await?.run);
        }
        for run in &shown {
            if choices.iter().all(|one| one.id != run.id) {
                choices.push(run.clone());
            }
        }
        Ok(Self { shown, choices })
    }

    /// The last step that all chosen runs have finished, or 0.
    pub(crate) fn last_step(&self) -> u32 {
        let last = self.shown.iter().map(|run| run.step - 1).min();
        last.unwrap_or(0).max(0).cast_unsigned()
    }
}

/// The newest `limit` runs; none for whoever has only a link to the page, since a link shows no other run.
pub(crate) async fn newest(view: &View, db: &PgPool, limit: u32) -> Result<Vec<Run>, ApiError> {
    if view.caller.has_only_a_link {
        return Ok(Vec::new());
    }
    let newest = Window { limit, after: None, order: Order::Newest };
    Ok(runs::page(db, &RunFilter::default(), &RunSort::Age, &newest).await?.items)
}
