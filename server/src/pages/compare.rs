//! `/compare`: any runs: their curves overlaid, what differs in their configs, what each cost, and where they ended.

mod account;
mod arms;
mod difference;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lyceum_core::id::ExecutionId;
use lyceum_store::list::{self, MetricRow, MetricsQuery, Order, Run, RunDetail, RunFilter, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use uuid::Uuid;

use self::{account::Account, difference::Difference};
use super::{
    curves::level_for,
    figure::Figure,
    filters::Filters,
    format::words,
    layout::{Layout, Section},
    view::View,
};
use crate::{api::Api, problem::Problem};

/// Runs of a comparison, at most.
pub(super) const RUNS: usize = 12;
/// Runs that are read at the same time, each by a connection of its own.
const AT_ONCE: usize = 3;
/// Points of a curve, at most.
const POINTS: u32 = 300;
/// Metrics that are drawn where the address names none.
const METRICS: [&str; 6] = [
    "solve_rate",
    "difficulty",
    "validity",
    "coverage",
    "cyclomatic",
    "entropy",
];
/// Metrics that are drawn at most.
const DRAWN: usize = 16;

/// Which runs, and what of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareFilter {
    /// Ids of runs, with commas between.
    runs: Option<String>,
    /// Names of metrics, with commas between.
    metrics: Option<String>,
    /// `true` (the default) draws runs of an arm as one curve with a band over its seeds.
    arms: Option<bool>,
}

/// A run with what is compared of it.
pub(super) struct Compared {
    pub(super) detail: RunDetail,
    pub(super) rows: Vec<MetricRow>,
}

impl Compared {
    async fn read(db: &PgPool, id: ExecutionId) -> Result<Self, Problem> {
        let detail = list::run(db, id).await?;
        let query = MetricsQuery {
            run_alone: true,
            level: level_for(detail.run.step, POINTS),
            limit: 4 * POINTS,
            ..MetricsQuery::default()
        };
        let rows = list::metrics(db, id, &query).await?.rows;
        Ok(Self { detail, rows })
    }

    fn place(&self, metric: &str) -> Option<usize> {
        self.detail.metrics.iter().position(|name| name == metric)
    }

    /// The last value of a metric.
    fn last(&self, metric: &str) -> Option<f64> {
        let place = self.place(metric)?;
        let value = |row: &MetricRow| row.mean.get(place).copied().filter(|value| value.is_finite());
        self.rows.iter().rev().find_map(value)
    }
}

/// Values of one metric, a column for each run.
#[derive(Serialize)]
struct Finals {
    metric: String,
    values: Vec<Option<f64>>,
}

#[derive(Template, Serialize)]
#[template(path = "compare.html")]
struct ComparePage {
    #[serde(skip)]
    layout: Layout,
    runs: Vec<Run>,
    differences: Vec<Difference>,
    accounts: Vec<Account>,
    finals: Vec<Finals>,
    #[serde(skip)]
    by_arm: bool,
    #[serde(skip)]
    metrics: Vec<String>,
    #[serde(skip)]
    known: Vec<String>,
    #[serde(skip)]
    others: Vec<Run>,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl ComparePage {
    fn ids(&self) -> String {
        self.runs
            .iter()
            .map(|run| run.id.to_string())
            .collect::<Vec<_>>()
            .join(",")
    }

    fn with(&self, id: &Uuid) -> String {
        let ids = self.ids();
        self.address(&if ids.is_empty() {
            id.to_string()
        } else {
            format!("{ids},{id}")
        })
    }

    fn without(&self, id: &Uuid) -> String {
        let kept: Vec<String> = self
            .runs
            .iter()
            .filter(|run| run.id != *id)
            .map(|run| run.id.to_string())
            .collect();
        self.address(&kept.join(","))
    }

    fn address(&self, ids: &str) -> String {
        format!(
            "/compare?runs={ids}&metrics={}&arms={}",
            self.metrics.join(","),
            self.by_arm
        )
    }

    fn words(&self, name: &str) -> String {
        words(name)
    }

    fn metric_list(&self) -> String {
        self.metrics.join(",")
    }
}

/// Runs side by side.
#[get("/compare")]
pub(crate) async fn show_compare(
    view: View,
    api: web::Data<Api>,
    filters: Filters<CompareFilter>,
) -> Result<HttpResponse, Problem> {
    let db = api.store.pool();
    let asked = filters.0;
    let ids = ids(asked.runs.as_deref().unwrap_or_default())?;
    let by_arm = asked.arms != Some(false);
    let compared = stream::iter(&ids).map(|id| Compared::read(db, *id));
    let compared: Vec<Compared> = compared.buffered(AT_ONCE).try_collect().await?;
    let known = known(&compared);
    let metrics = metrics(asked.metrics.as_deref(), &known, compared.is_empty())?;
    let accounts = stream::iter(&compared).map(|run| Account::of(db, &run.detail));
    let accounts: Vec<Account> = accounts.buffered(AT_ONCE).try_collect().await?;
    let recent = Window {
        limit: 50,
        after: None,
        order: Order::Newest,
    };
    let others = list::runs(db, &RunFilter::default(), &recent).await?.items;
    let configs: Vec<&serde_json::Value> = compared.iter().map(|run| &run.detail.config).collect();
    let finals = known.iter().map(|metric| Finals {
        metric: metric.clone(),
        values: compared.iter().map(|run| run.last(metric)).collect(),
    });
    view.show(&ComparePage {
        layout: view.layout("Compare", Section::Compare),
        differences: difference::differences(&configs),
        accounts,
        finals: finals.filter(|row| row.values.iter().any(Option::is_some)).collect(),
        figures: metrics
            .iter()
            .map(|metric| arms::figure(metric, &compared, by_arm))
            .collect(),
        others: others
            .into_iter()
            .filter(|other| !ids.contains(&ExecutionId(other.id)))
            .collect(),
        by_arm,
        known,
        metrics,
        runs: compared.into_iter().map(|run| run.detail.run).collect(),
    })
}

fn ids(text: &str) -> Result<Vec<ExecutionId>, Problem> {
    let wrong = |detail: String| Problem::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids = Vec::new();
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let id = id
            .parse()
            .map_err(|_| wrong(format!("`{id}` is no id of a run; /runs lists runs")))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    match ids.len() {
        0..=RUNS => Ok(ids),
        many => Err(wrong(format!(
            "{many} runs are too many for one page; {RUNS} can be compared at once"
        ))),
    }
}

/// Metrics that any of the runs has.
fn known(compared: &[Compared]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for metric in compared.iter().flat_map(|run| &run.detail.metrics) {
        if !known.contains(metric) {
            known.push(metric.clone());
        }
    }
    known
}

fn metrics(asked: Option<&str>, known: &[String], is_empty: bool) -> Result<Vec<String>, Problem> {
    let Some(asked) = asked else {
        let usual = METRICS.iter().filter(|name| known.iter().any(|one| one == *name));
        return Ok(usual.map(|name| (*name).to_owned()).collect());
    };
    let names: Vec<String> = asked
        .split(',')
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    if !is_empty {
        for name in &names {
            super::lineage::place_of("metrics", name, known)?;
        }
    }
    if names.len() > DRAWN {
        let detail = format!(
            "{} metrics are too many for one page; {DRAWN} can be drawn at once",
            names.len()
        );
        return Err(Problem::invalid_query(vec![("metrics".to_owned(), detail)]));
    }
    Ok(names)
}
