//! `/compare`: runs side by side: curves, differences of their configs, costs and final values.

mod account;
mod alignment;
mod arms;
mod difference;
mod labels;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lyceum_core::{
    id::ExecutionId,
    recipe::{Highlight, Metric, Registry},
};
use lyceum_store::{
    executions::State,
    metrics::{self, MetricRow, MetricsQuery},
    page::{Order, Window},
    runs::{self, Run, RunDetail, RunFilter, RunSort},
    steps,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub(super) use self::labels::labels;
use self::{
    account::Account,
    alignment::{Over, Progress, TOKENS},
    difference::Difference,
};
use super::{
    curves::level_for,
    figure::Figure,
    filters::Filters,
    format::words,
    layout::{Layout, Section},
    steps::Steps,
    view::View,
};
use crate::{api::Api, api_error::ApiError};

/// Maximum runs of a comparison.
pub(super) const RUNS: usize = 12;
/// Runs read at the same time, each over its own connection.
const AT_ONCE: usize = 3;
/// Maximum points of a curve.
const POINTS: u32 = 300;
/// Metrics drawn, at most.
const DRAWN: usize = 16;
/// The last steps in which a metric's newest value is searched for before it is taken from a point of the curve.
const NEWEST: u32 = 64;

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
    /// What curves are drawn over; by default steps. Arms are drawn over steps alone, which all seeds have in common.
    over: Option<Over>,
    /// The run whose latest values others are compared with.
    baseline: Option<Uuid>,
    /// The steps shown, which the browser cuts out.
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
}

/// A run in the comparison.
pub(super) struct Compared {
    pub(super) detail: RunDetail,
    /// Its name among the others.
    pub(super) label: String,
    pub(super) rows: Vec<MetricRow>,
    /// Its last steps, if `rows` are means over several.
    newest: Vec<MetricRow>,
    /// How far it had come after each of `rows`, unless curves are drawn over steps.
    pub(super) progress: Option<Progress>,
}

impl Compared {
    /// Reads the curves of a run, with 4^`level` steps per point.
    async fn read(db: &PgPool, (detail, label, level, over): (RunDetail, String, u8, Over)) -> Result<Self, ApiError> {
        let id = ExecutionId(detail.run.id);
        let query = MetricsQuery {
            run_alone: true,
            level,
            limit: 4 * POINTS,
            ..MetricsQuery::default()
        };
        let rows = metrics::rows(db, id, &query).await?.rows;
        let newest = if level > 0 {
            let query = MetricsQuery {
                from: detail.run.step.max(0).cast_unsigned().saturating_sub(NEWEST),
                level: 0,
                ..query
            };
            metrics::rows(db, id, &query).await?.rows
        } else {
            Vec::new()
        };
        let place = detail.metrics.iter().position(|name| name == TOKENS);
        let progress = match over {
            Over::Steps => None,
            Over::Tokens => Some(Progress::by_tokens(&rows, place)),
            Over::Hours => Some(Progress::by_hours(&rows, &steps::seconds(db, id).await?)),
        };
        Ok(Self {
            detail,
            label,
            rows,
            newest,
            progress,
        })
    }

    fn place(&self, metric: &str) -> Option<usize> {
        self.detail.metrics.iter().position(|name| name == metric)
    }

    /// The last value of a metric.
    fn last(&self, metric: &str) -> Option<f64> {
        let place = self.place(metric)?;
        let value = |row: &MetricRow| row.mean.get(place).copied().filter(|value| value.is_finite());
        self.newest.iter().rev().chain(self.rows.iter().rev()).find_map(value)
    }
}

/// Values of one metric, a column for each run.
#[derive(Serialize)]
struct Finals {
    metric: String,
    values: Vec<Option<f64>>,
    /// What each differs by from the baseline's, if there is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deltas: Vec<Option<f64>>,
}

impl Finals {
    fn of(metric: &str, values: Vec<Option<f64>>, baseline: Option<usize>) -> Self {
        let base = baseline.map(|place| values[place]);
        let deltas = base.map(|base| values.iter().map(|value| Some((*value)? - base?)).collect());
        Self {
            metric: metric.to_owned(),
            deltas: deltas.unwrap_or_default(),
            values,
        }
    }

    /// The difference in a column, with its sign; none for the baseline itself.
    fn delta(&self, column: &usize) -> Option<String> {
        let delta = (*self.deltas.get(*column)?)?;
        let shown = super::format::value(&delta.abs());
        Some(match delta {
            0.0 => "=".to_owned(),
            0.0.. => format!("+{shown}"),
            _ => format!("−{shown}"),
        })
    }
}

#[derive(Template, Serialize)]
#[template(path = "compare.html")]
struct ComparePage {
    #[serde(skip)]
    layout: Layout,
    runs: Vec<Run>,
    /// The name of each run among the others.
    labels: Vec<String>,
    differences: Vec<Difference>,
    accounts: Vec<Account>,
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
        let ids = if ids.is_empty() {
            id.to_string()
        } else {
            format!("{ids},{id}")
        };
        self.address(&ids, &self.chosen_list())
    }

    fn without(&self, id: &Uuid) -> String {
        let kept: Vec<(&Run, &Vec<String>)> = self
            .runs
            .iter()
            .zip(&self.metrics_of)
            .filter(|(run, _)| run.id != *id)
            .collect();
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
            "A curve is a run, or the mean over the seeds of an arm, with one standard deviation to either side. Runs of one seed are \
             never averaged."
        } else {
            "A curve is a run."
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
    api: web::Data<Api>,
    filters: Filters<CompareFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = api.store.pool();
    let asked = filters.0;
    let ids = ids(asked.runs.as_deref().unwrap_or_default())?;
    let by_arm = asked.arms == Some(true);
    let details = stream::iter(&ids).map(|id| runs::find(db, *id));
    let details: Vec<RunDetail> = details.buffered(AT_ONCE).try_collect().await?;
    let labels = labels(details.iter().map(|detail| &detail.run));
    let over = asked.over.filter(|_| !by_arm).unwrap_or_default();
    let baseline = match asked.baseline {
        Some(run) => Some(place_of_baseline(run, &ids)?),
        None => None,
    };
    let levels = levels(&details, by_arm);
    let labelled = details.into_iter().zip(labels.iter().cloned()).zip(levels);
    let compared =
        stream::iter(labelled).map(|((detail, label), level)| Compared::read(db, (detail, label, level, over)));
    let compared: Vec<Compared> = compared.buffered(AT_ONCE).try_collect().await?;
    let known = known(&compared);
    let metrics = match asked.metrics.as_deref() {
        Some(names) => named(names, &known, compared.is_empty())?,
        None => usual(&api.registry, &compared, &known),
    };
    let accounts = stream::iter(&compared).map(|run| Account::of(db, &run.detail));
    let accounts: Vec<Account> = accounts.buffered(AT_ONCE).try_collect().await?;
    let recent = Window {
        limit: 50,
        after: None,
        order: Order::Newest,
    };
    let others = runs::page(db, &RunFilter::default(), &RunSort::Age, &recent)
        .await?
        .items;
    let configs: Vec<&serde_json::Value> = compared.iter().map(|run| &run.detail.config).collect();
    let finals = known.iter().map(|metric| {
        let values = compared.iter().map(|run| run.last(metric)).collect();
        Finals::of(metric, values, baseline)
    });
    let units = units(&api.registry, &compared);
    view.show(&ComparePage {
        layout: view.layout("Compare", Section::Compare),
        differences: difference::differences(&configs),
        accounts,
        finals: finals.filter(|row| row.values.iter().any(Option::is_some)).collect(),
        figures: metrics
            .iter()
            .map(|metric| {
                let unit = units.get(metric.as_str()).copied().unwrap_or_default();
                arms::figure(metric, unit, &compared, by_arm, over)
            })
            .collect(),
        others: others
            .into_iter()
            .filter(|other| !ids.contains(&ExecutionId(other.id)))
            .collect(),
        by_arm,
        steps: Steps {
            from: asked.from,
            to: asked.to,
        },
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

/// The address of a comparison; of the usual metrics if `metrics` is empty.
fn address(ids: &str, metrics: &str, by_arm: bool, over: Over, baseline: Option<Uuid>) -> String {
    let mut address = format!("/compare?runs={ids}");
    if !metrics.is_empty() {
        address.push_str("&metrics=");
        address.extend(utf8_percent_encode(metrics, NON_ALPHANUMERIC));
    }
    if by_arm {
        address.push_str("&arms=true");
    }
    if over != Over::default() {
        address.push_str("&over=");
        address.push_str(over.name());
    }
    if let Some(run) = baseline {
        address.push_str(&format!("&baseline={run}"));
    }
    address
}

/// The resolution of each run's curves. Runs of an arm share one, as they would have no points in common otherwise.
fn levels(details: &[RunDetail], by_arm: bool) -> Vec<u8> {
    let longest = |detail: &RunDetail| {
        let of_arm = details.iter().filter(|other| by_arm && other.run.arm == detail.run.arm);
        of_arm.map(|other| other.run.step).max().unwrap_or(detail.run.step)
    };
    details
        .iter()
        .map(|detail| level_for(longest(detail), POINTS))
        .collect()
}

fn ids(text: &str) -> Result<Vec<ExecutionId>, ApiError> {
    let wrong = |detail: String| ApiError::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids = Vec::new();
    for id in text.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let id = id
            .parse()
            .map_err(|_| wrong(format!("`{id}` is not the id of a run; /runs lists them")))?;
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

/// The column of the baseline.
fn place_of_baseline(run: Uuid, ids: &[ExecutionId]) -> Result<usize, ApiError> {
    ids.iter().position(|id| id.0 == run).ok_or_else(|| {
        let detail = format!("`{run}` is not one of the runs that are compared");
        ApiError::invalid_query(vec![("baseline".to_owned(), detail)])
    })
}

/// The units of the metrics that the recipes of the runs record.
fn units(registry: &Registry, compared: &[Compared]) -> BTreeMap<&'static str, &'static str> {
    let recipes = compared
        .iter()
        .filter_map(|run| registry.get(&run.detail.run.recipe).ok());
    let metrics = recipes.flat_map(|recipe| recipe.metrics());
    metrics.map(|metric| (metric.name, metric.unit)).collect()
}

/// The metrics of any of the runs.
fn known(compared: &[Compared]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for metric in compared.iter().flat_map(|run| &run.detail.metrics) {
        if !known.contains(metric) {
            known.push(metric.clone());
        }
    }
    known
}

/// The metrics that the recipes of the runs highlight in comparisons.
fn usual(registry: &Registry, compared: &[Compared], known: &[String]) -> Vec<String> {
    let recipes: BTreeSet<&str> = compared.iter().map(|run| run.detail.run.recipe.as_str()).collect();
    let metrics: Vec<Metric> = recipes
        .into_iter()
        .filter_map(|name| registry.get(name).ok())
        .flat_map(|recipe| recipe.metrics())
        .filter(|metric| metric.highlights.contains(&Highlight::Comparison))
        .collect();
    let is_usual = |name: &&String| metrics.iter().any(|metric| metric.name == **name);
    known.iter().filter(is_usual).take(DRAWN).cloned().collect()
}

fn named(names: &str, known: &[String], is_empty: bool) -> Result<Vec<String>, ApiError> {
    let names: Vec<String> = names
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
        return Err(ApiError::invalid_query(vec![("metrics".to_owned(), detail)]));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::query;

    #[test]
    fn values_are_compared_with_those_of_the_baseline() {
        let row = Finals::of("m", vec![Some(0.5), Some(0.75), None, Some(0.25)], Some(0));
        let shown = [0, 1, 2, 3].map(|column| row.delta(&column));
        assert_eq!(
            shown.each_ref().map(Option::as_deref),
            [Some("="), Some("+0.25"), None, Some("−0.25")]
        );
        let without = Finals::of("m", vec![None, Some(0.75)], Some(0));
        assert_eq!(without.delta(&1), None, "the baseline has no value");
        assert_eq!(Finals::of("m", vec![Some(0.5)], None).delta(&0), None);
    }

    #[test]
    fn an_address_keeps_metrics_of_any_name() {
        let names = "a&b=c,with space,50%,c#,1+1,é\"'<";
        let address = address("r", names, true, Over::Tokens, None);
        let (_, query) = address.split_once('?').unwrap();
        assert!(!query.contains(['#', ' ', '+', '"', '<']), "{query}");
        let read: CompareFilter = query::parse(query).unwrap();
        assert_eq!((read.runs.as_deref(), read.arms), (Some("r"), Some(true)));
        assert_eq!(read.over, Some(Over::Tokens));
        assert_eq!(read.metrics.as_deref(), Some(names));
    }
}
