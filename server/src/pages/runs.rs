//! `/runs`: all runs as a table: with columns of one's choice, sorted, filtered and grouped. The address says all of it.

mod column;
mod group;
mod sort;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_store::{
    executions::State,
    experiments,
    runs::{self, LastSteps, Run, RunFilter},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub(crate) use self::column::{Column, Value};
use self::{
    group::{By, Group},
    sort::{Head, Sort},
};
use super::parallel::{Coordinates, Parallel};
use crate::{
    api_error::ApiError,
    contract::{Listing, Order},
    frame::{
        layout::{Layout, Section},
        run::recipes,
        view::{Filters, Pager, View},
    },
    lab::Lab,
};

/// What the table shows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsFilter {
    state: Option<State>,
    recipe: Option<String>,
    experiment: Option<Uuid>,
    arm: Option<String>,
    tag: Option<String>,
    /// What a name begins with.
    name: Option<String>,
    /// What is anywhere in a name, a note or a tag.
    #[schemars(length(max = 200))]
    q: Option<String>,
    /// Conditions, separated by commas.
    #[serde(rename = "where")]
    #[schemars(length(max = 1000))]
    conditions: Option<String>,
    /// Names of columns, separated by commas.
    #[schemars(length(max = 1000))]
    columns: Option<String>,
    /// How many of the last steps a metric is averaged over.
    last: Option<Last>,
    group: Option<String>,
    sort: Option<String>,
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u32>,
    cursor: Option<String>,
    order: Option<Order>,
}

/// How many of the last steps a metric is averaged over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum Last {
    #[serde(rename = "1")]
    One,
    #[default]
    #[serde(rename = "16")]
    Sixteen,
    #[serde(rename = "64")]
    SixtyFour,
}

impl From<Last> for LastSteps {
    fn from(last: Last) -> Self {
        match last {
            Last::One => Self::One,
            Last::Sixteen => Self::Sixteen,
            Last::SixtyFour => Self::SixtyFour,
        }
    }
}

/// A run and its values in the columns.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    run: Run,
    #[serde(skip)]
    shown: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, Option<Value>>,
}

impl Row {
    /// The row as a line across the columns.
    fn coordinates(&self, columns: &[Column]) -> Coordinates {
        let value = |column: &Column| {
            let own = self.values.get(&column.name).cloned().flatten();
            own.map(|value| column.on_axis(value))
        };
        Coordinates {
            name: self.run.name.clone(),
            address: format!("/runs/{}", self.run.id),
            values: columns.iter().map(value).collect(),
        }
    }
}

#[derive(Template, Serialize)]
#[template(path = "runs.html")]
struct RunsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    asked: RunsFilter,
    #[serde(skip)]
    columns: Vec<Column>,
    /// The heads of the built-in columns that sort, by name, and of the chosen ones.
    #[serde(skip)]
    heads: Vec<Head>,
    #[serde(skip)]
    recipes: Vec<String>,
    /// Metrics and suites to choose columns from.
    #[serde(skip)]
    choices: Vec<String>,
    /// The name of the filter's experiment.
    #[serde(skip)]
    experiment: Option<String>,
    items: Vec<Row>,
    /// Runs in groups, if they were asked for; `items` is empty then.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<Group>>,
    #[serde(flatten)]
    pager: Pager,
    /// The runs of the page across the chosen columns.
    #[serde(skip)]
    parallel: Option<Parallel>,
}

impl RunsPage {
    fn states(&self) -> [(State, bool); State::ALL.len()] {
        State::ALL.map(|state| (state, self.asked.state == Some(state)))
    }

    fn has_recipe(&self, recipe: &str) -> bool {
        self.asked.recipe.as_deref() == Some(recipe)
    }

    fn lasts(&self) -> [(&'static str, bool); 3] {
        let asked = self.asked.last.unwrap_or_default();
        [("1", Last::One), ("16", Last::Sixteen), ("64", Last::SixtyFour)].map(|(name, last)| (name, last == asked))
    }

    fn text<'a>(&self, asked: &'a Option<String>) -> &'a str {
        asked.as_deref().unwrap_or_default()
    }

    fn head(&self, name: &str) -> Option<&Head> {
        self.heads.iter().find(|head| head.name == name)
    }

    /// Whether runs are left out of the means of their groups.
    fn has_repeats(&self) -> bool {
        self.groups.iter().flatten().any(|group| group.repeats > 0)
    }

    fn is_filtered(&self) -> bool {
        let asked = &self.asked;
        asked.state.is_some()
            || asked.experiment.is_some()
            || [
                &asked.recipe,
                &asked.arm,
                &asked.tag,
                &asked.name,
                &asked.q,
                &asked.conditions,
            ]
            .iter()
            .any(|given| given.is_some())
    }
}

fn fault(parameter: &str) -> impl Fn(String) -> ApiError + '_ {
    move |detail| ApiError::invalid_query(vec![(parameter.to_owned(), detail)])
}

/// The table of runs.
#[get("/runs")]
pub(crate) async fn show_runs(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<RunsFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let last = LastSteps::from(asked.last.unwrap_or_default());
    let columns = Column::parse_all(asked.columns.as_deref().unwrap_or_default()).map_err(fault("columns"))?;
    let conditions = column::parse_all(asked.conditions.as_deref().unwrap_or_default()).map_err(fault("where"))?;
    let sort = Sort::parse(asked.sort.as_deref()).map_err(fault("sort"))?;
    let by = asked
        .group
        .as_deref()
        .map(By::parse)
        .transpose()
        .map_err(fault("group"))?;
    let mut asked_for: Vec<(&str, &runs::RunColumn)> = columns.iter().map(|one| ("columns", &one.column)).collect();
    asked_for.extend(conditions.iter().map(|one| ("where", &one.column)));
    asked_for.extend(sort.column().map(|column| ("sort", column)));
    let grouped = by.as_ref().and_then(By::column);
    asked_for.extend(grouped.as_ref().map(|column| ("group", column)));
    sort::refuse_unknown(&lab, &asked_for).await?;
    let listing = Listing::new(
        &sort.list(asked.last.unwrap_or_default() as u8),
        asked.limit,
        asked.cursor.as_deref(),
        asked.order,
    )?;
    let filter = RunFilter {
        state: asked.state,
        recipe: asked.recipe.clone(),
        experiment: asked.experiment.map(ExperimentId),
        arm: asked.arm.clone(),
        tag: asked.tag.clone(),
        name: asked.name.clone(),
        text: asked.q.clone(),
        conditions,
        last,
    };
    let experiment = match filter.experiment {
        Some(id) => Some(experiments::find(db, id).await?.name),
        None => None,
    };
    let of_columns: Vec<runs::RunColumn> = columns.iter().map(|column| column.column.clone()).collect();
    let (items, next, groups) = match &by {
        Some(by) => (Vec::new(), None, Some(by.load(db, &view, &filter, &columns).await?)),
        None => {
            let page = listing.page(runs::page(db, &filter, &sort.by(), listing.window()).await?);
            let ids: Vec<Uuid> = page.items.iter().map(|run| run.id).collect();
            let mut values = runs::values(db, &ids, &of_columns, last).await?;
            let row = |run: Run| {
                let own = values.remove(&run.id).unwrap_or_else(|| vec![None; columns.len()]);
                let own: Vec<Option<Value>> = own.into_iter().map(|value| value.map(Value::from)).collect();
                let shown = columns.iter().zip(&own).map(|(column, value)| column.value(value));
                Row {
                    shown: shown.collect(),
                    values: columns.iter().map(|column| column.name.clone()).zip(own).collect(),
                    run,
                }
            };
            (page.items.into_iter().map(row).collect(), page.next, None)
        }
    };
    let titles: Vec<String> = columns.iter().map(Column::title).collect();
    let drawn: Vec<Coordinates> = items.iter().map(|row| row.coordinates(&columns)).collect();
    view.show(&RunsPage {
        parallel: Parallel::of("parallel".to_owned(), &titles, &drawn),
        layout: view.layout("Runs", Section::Runs),
        heads: sort::heads(&view, &sort, asked.order, &columns),
        recipes: recipes(&lab.registry, asked.recipe.as_deref()),
        choices: choices(&lab),
        experiment,
        columns,
        items,
        groups,
        pager: view.pager(next),
        asked,
    })
}

/// The metrics that any recipe records, and the suites, as names of columns.
fn choices(lab: &Lab) -> Vec<String> {
    let metrics = lab.registry.recipes().flat_map(|recipe| recipe.metric_names());
    let metrics: BTreeSet<String> = metrics.map(|name| format!("metrics.{name}")).collect();
    let suites = lyceum_core::benchmark::shipped_suites().iter();
    let suites = suites.flat_map(|suite| ["benchmarks", "difference"].map(|kind| format!("{kind}.{}", suite.name)));
    metrics.into_iter().chain(suites).collect()
}
