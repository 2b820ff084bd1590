//! `/compare`: runs side by side: curves, differences of their configs, scores, costs and latest values.

mod alignment;
mod arms;
mod choice;
mod compared;
pub(super) mod picks;
pub(super) mod problems;
mod scores;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lyceum_core::id::ExecutionId;
use lyceum_store::executions::State;
use lyceum_store::runs::{self, Run, RunDetail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::alignment::Over;
use self::arms::{Account, Finals};
pub(crate) use self::choice::labels;
use self::choice::{address, ids, known, named, place_of_baseline, units, usual};
use self::compared::{Compared, Difference, levels};
use self::scores::{Scores, scores};
use crate::api_error::ApiError;
use crate::frame::figure::Figure;
use crate::frame::format::words;
use crate::frame::layout::{Layout, Section};
use crate::frame::run;
use crate::frame::steps::Steps;
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::lab::overlay::{Axis, Overlay, RUNS};

/// Runs read at the same time, each over its own connection.
const AT_ONCE: usize = 3;

/// The runs and metrics compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareFilter {
    /// Ids of runs, separated by commas.
    runs: Option<String>,
    /// Names of metrics, separated by commas.
    metrics: Option<String>,
    /// `true` draws runs of an arm as one curve with a band over its seeds; by default every run has its own.
    arms: Option<bool>,
    /// The x axis of curves, by default steps. Metrics of arms are drawn only over steps, which all seeds have in common.
    over: Option<Over>,
    /// The run whose latest values others are compared with.
    baseline: Option<Uuid>,
    /// The steps shown, which the browser cuts out.
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
}

#[derive(Template, Serialize)]
#[template(path = "comparison/page.html")]
struct ComparePage {
    #[serde(skip)]
    layout: Layout,
    runs: Vec<Run>,
    /// The name of each run among the others.
    labels: Vec<String>,
    differences: Vec<Difference>,
    accounts: Vec<Account>,
    scores: Vec<Scores>,
    finals: Vec<Finals>,
    #[serde(skip)]
    by_arm: bool,
    #[serde(skip)]
    steps: Steps,
    #[serde(skip)]
    over: Over,
    /// The run that others are compared with.
    baseline: Option<Uuid>,
    #[serde(skip)]
    metrics: Vec<String>,
    /// Whether the address names the metrics.
    #[serde(skip)]
    chosen: bool,
    #[serde(skip)]
    known: Vec<String>,
    /// The metrics of each run.
    #[serde(skip)]
    metrics_of: Vec<Vec<String>>,
    #[serde(skip)]
    others: Vec<Run>,
    #[serde(skip)]
    figures: Vec<Figure>,
    /// Held-out accuracy of all runs.
    #[serde(skip)]
    held_out: Overlay,
}

impl ComparePage {
    /// The data of all charts.
    fn curves(&self) -> String {
        let all = self.held_out.figures.iter().chain(&self.figures);
        Figure::island(&all.cloned().collect::<Vec<_>>())
    }

    fn ids(&self) -> String {
        self.runs.iter().map(|run| run.id.to_string()).collect::<Vec<_>>().join(",")
    }

    fn with(&self, id: &Uuid) -> String {
        let ids = self.ids();
        let ids = if ids.is_empty() { id.to_string() } else { format!("{ids},{id}") };
        self.address(&ids, &self.chosen_list())
    }

    fn without(&self, id: &Uuid) -> String {
        let kept: Vec<(&Run, &Vec<String>)> =
            self.runs.iter().zip(&self.metrics_of).filter(|(run, _)| run.id != *id).collect();
        let ids: Vec<String> = kept.iter().map(|(run, _)| run.id.to_string()).collect();
        let has = |name: &&String| kept.is_empty() || kept.iter().any(|(_, metrics)| metrics.contains(*name));
        let chosen = self.metrics.iter().filter(|_| self.chosen);
        let metrics: Vec<&str> = chosen.filter(has).map(String::as_str).collect();
        self.address(&ids.join(","), &metrics.join(","))
    }

    /// This page with other runs and metrics.
    fn address(&self, ids: &str, metrics: &str) -> String {
        let baseline = self.baseline.filter(|run| ids.contains(&run.to_string()));
        address(ids, metrics, self.by_arm, self.over, baseline)
    }

    fn overs(&self) -> [(&'static str, &'static str, bool); Over::ALL.len()] {
        Over::ALL.map(|over| (over.name(), over.words(), self.over == over))
    }

    fn is_drawn(&self, metric: &String) -> bool {
        self.metrics.contains(metric)
    }

    fn is_baseline(&self, run: &Uuid) -> bool {
        self.baseline == Some(*run)
    }

    fn is_live(&self) -> bool {
        self.runs.iter().any(|run| run.state == State::Running)
    }

    fn is_full(&self) -> bool {
        self.runs.len() >= RUNS
    }

    /// How to read the curves.
    fn about(&self) -> &'static str {
        if self.by_arm {
            "Each curve is a run, or the mean over an arm's seeds with one standard deviation on either side. Runs with the same seed \
             are never averaged."
        } else {
            "Each curve is a run."
        }
    }

    /// The problems of the first two runs.
    fn beside(&self) -> String {
        self.first_two("/compare/problems")
    }

    /// The picks of the first two runs.
    fn picks(&self) -> String {
        self.first_two("/compare/picks")
    }

    fn first_two(&self, page: &str) -> String {
        match &self.runs[..] {
            [left, right, ..] => format!("{page}?left={}&right={}", left.id, right.id),
            [left] => format!("{page}?left={}", left.id),
            [] => page.to_owned(),
        }
    }

    fn words(&self, name: &str) -> String {
        words(name)
    }

    /// The metrics named in the address.
    fn chosen_list(&self) -> String {
        if self.chosen { self.metric_list() } else { String::new() }
    }

    fn metric_list(&self) -> String {
        self.metrics.join(",")
    }
}

/// Runs side by side.
#[get("/compare")]
pub(crate) async fn show_compare(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<CompareFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let ids = ids(asked.runs.as_deref().unwrap_or_default())?;
    let by_arm = asked.arms == Some(true);
    let details = stream::iter(&ids).map(|id| runs::find(db, *id));
    let details: Vec<RunDetail> = details.buffered(AT_ONCE).try_collect().await?;
    let labels = labels(details.iter().map(|detail| &detail.run));
    let over = asked.over.unwrap_or_default();
    let baseline = match asked.baseline {
        Some(run) => Some(place_of_baseline(run, &ids)?),
        None => None,
    };
    let levels = levels(&details, by_arm);
    let labelled = details.into_iter().zip(labels.iter().cloned()).zip(levels);
    let compared = stream::iter(labelled)
        .map(|((detail, label), level)| Compared::read(&lab, ids.len(), (detail, label, level, over)));
    let compared: Vec<Compared> = compared.buffered(AT_ONCE).try_collect().await?;
    let known = known(&compared);
    let metrics = match asked.metrics.as_deref() {
        Some(names) => named(names, &known, compared.is_empty())?,
        None => usual(&lab.registry, &compared, &known),
    };
    let accounts = stream::iter(&compared).map(|run| Account::of(&lab, &run.detail));
    let accounts: Vec<Account> = accounts.buffered(AT_ONCE).try_collect().await?;
    let others = run::newest(&view, db, 50).await?;
    let configs: Vec<&serde_json::Value> = compared.iter().map(|run| &run.detail.config).collect();
    let units = units(&lab.registry, &compared);
    let unit = |metric: &str| units.get(metric).copied().unwrap_or_default();
    let finals = known.iter().map(|metric| {
        let values = compared.iter().map(|run| run.last(metric)).collect();
        Finals::of(metric, unit(metric), values, baseline)
    });
    let scores = scores(db, &ids, baseline).await?;
    let find = |id: Uuid| compared.iter().find(|run| run.detail.run.id == id);
    let arms = if by_arm { arms::arms(&compared) } else { Vec::new() };
    let axis = Axis {
        label: over.axis(),
        at: &|run, step| find(run)?.after(step),
        colour: &|id| arms.iter().position(|arm| arm.iter().any(|run| run.detail.run.id == id)),
    };
    let held_out = Overlay::of(db, &ids.iter().map(|id| id.0).collect::<Vec<_>>(), &axis).await?;
    view.show(&ComparePage {
        held_out,
        layout: view.layout("Compare", Section::Compare),
        differences: compared::differences(&configs),
        accounts,
        scores,
        finals: finals.filter(|row| row.values.iter().any(Option::is_some)).collect(),
        figures: metrics.iter().map(|metric| arms::figure(metric, unit(metric), &compared, by_arm, over)).collect(),
        others: others.into_iter().filter(|other| !ids.contains(&ExecutionId(other.id))).collect(),
        by_arm,
        steps: Steps { from: asked.from, to: asked.to },
        over,
        baseline: asked.baseline,
        known,
        metrics,
        chosen: asked.metrics.is_some(),
        labels,
        metrics_of: compared.iter().map(|run| run.detail.metrics.clone()).collect(),
        runs: compared.into_iter().map(|run| run.detail.run).collect(),
    })
}
