//! `/`: the lab. What runs, and all runs as a table: with what each came to and columns of one's choice, sorted, filtered and
//! grouped. The address says all of it.

mod chips;
pub(crate) mod column;
mod group;
mod now;
pub(crate) mod overlay;
pub(crate) mod parallel;
mod row;
mod sort;
mod table;
mod verdicts;

use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, get, web};
use askama::Template;
use futures::FutureExt as _;
use futures::future::OptionFuture;
use lyceum_core::id::ExperimentId;
use lyceum_store::executions::State;
use lyceum_store::experiments;
use lyceum_store::runs::LastSteps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::chips::{Chip, Known};
use self::now::Now;
use self::overlay::{Axis, Overlay};
use self::row::{Section as Rows, by_experiment};
use self::table::Table;
use crate::api_error::ApiError;
use crate::contract::Order;
use crate::frame::figure::Figure;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

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
    /// Ids of runs whose held-out curves are drawn above the table, separated by commas.
    #[schemars(length(max = 1000))]
    overlay: Option<String>,
    /// A filter to add: leads to the address with it.
    #[schemars(length(max = 400))]
    filter: Option<String>,
    /// A column to add: leads to the address with it.
    #[schemars(length(max = 400))]
    column: Option<String>,
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

#[derive(Template, Serialize)]
#[template(path = "lab/page.html")]
struct LabPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    view: View,
    #[serde(skip)]
    asked: RunsFilter,
    #[serde(skip)]
    chips: Vec<Chip>,
    #[serde(skip)]
    known: Known,
    /// None for whoever has only a link to the page, and at `/runs`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    now: Option<Now>,
    #[serde(flatten)]
    table: Table,
    #[serde(skip)]
    overlay: Overlay,
}

impl LabPage {
    fn lasts(&self) -> [(&'static str, bool); 3] {
        let asked = self.asked.last.unwrap_or_default();
        [("1", Last::One), ("16", Last::Sixteen), ("64", Last::SixtyFour)].map(|(name, last)| (name, last == asked))
    }

    /// The choices of what runs are grouped by.
    fn groups(&self) -> Vec<(&str, bool)> {
        let asked = self.asked.group.as_deref();
        let usual = ["experiment", "arm", "recipe", "state"];
        let own = asked.into_iter().filter(|by| !usual.contains(by));
        usual.into_iter().chain(own).map(|by| (by, asked == Some(by))).collect()
    }

    /// The hidden fields of a form that sets `others` anew.
    fn kept(&self, others: &[&str]) -> Vec<(String, String)> {
        self.view.kept(others)
    }

    /// Whether the laboratory has no run yet.
    fn is_empty(&self) -> bool {
        self.now.as_ref().is_some_and(|now| now.recent.is_empty()) && self.chips.is_empty()
    }

    /// The rows by experiment, unless they are in another order or of one experiment.
    fn sections(&self) -> Vec<Rows<'_>> {
        let is_by_age = self.asked.sort.as_deref().is_none_or(|sort| sort == "age");
        match is_by_age && self.asked.experiment.is_none() {
            true => by_experiment(&self.table.items),
            false => vec![Rows { experiment: None, rows: self.table.items.iter().collect() }],
        }
    }

    /// Columns, so that the head of a section is as wide as all of them.
    fn width(&self) -> usize {
        9 + self.table.columns.len() + usize::from(self.layout.may_write())
    }

    /// Whether the rows have heads.
    fn has_heads(&self) -> bool {
        self.table.items.iter().any(|row| row.run.experiment_id.is_some())
    }

    fn is_drawn(&self) -> bool {
        !self.overlay.figures.is_empty()
    }
}

fn fault(parameter: &str) -> impl Fn(String) -> ApiError + '_ {
    move |detail| ApiError::invalid_query(vec![(parameter.to_owned(), detail)])
}

/// The lab.
#[get("/")]
pub(crate) async fn show_lab(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<RunsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    if let Some(text) = &asked.filter {
        return Ok(see(&chips::with(&view, &lab, text).await?));
    }
    if let Some(name) = &asked.column {
        return Ok(see(&chips::with_column(&view, name)));
    }
    // The ticked boxes of a form; links keep one list.
    if let (true, Some(ids)) = (view.request().query_string().matches("overlay=").count() > 1, &asked.overlay) {
        return Ok(see(&view.with(&[("overlay", Some(ids))])));
    }
    let has_now = !view.caller.has_only_a_link;
    show(view, &lab, asked, has_now).await
}

/// Only the table, as JSON; a browser is sent to the lab.
#[get("/runs")]
pub(crate) async fn show_runs(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<RunsFilter>,
) -> Result<HttpResponse, ApiError> {
    if !view.is_json() {
        return Ok(see(match view.request().query_string() {
            "" => "/".to_owned(),
            query => format!("/?{query}"),
        }
        .as_str()));
    }
    show(view, &lab, filters.0, false).await
}

fn see(address: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((LOCATION, address)).finish()
}

async fn show(view: View, lab: &Lab, asked: RunsFilter, has_now: bool) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let ticked = overlay::ticked(asked.overlay.as_deref().unwrap_or_default()).map_err(fault("overlay"))?;
    let experiment = match asked.experiment {
        Some(id) => Some(experiments::find(db, ExperimentId(id)).await?.name),
        None => None,
    };
    let now = OptionFuture::from(has_now.then(|| Now::load(lab, &view)));
    let known = OptionFuture::from((!view.is_json()).then(|| Known::load(lab, &view)));
    let (now, known, table, overlay) = futures::try_join!(
        now.map(Option::transpose),
        known.map(Option::transpose),
        Table::load(lab, &view, &asked, &ticked),
        Overlay::of(db, &ticked, &Axis::STEPS)
    )?;
    view.show(&LabPage {
        layout: view.layout("Lab", Section::Home),
        chips: chips::chips(&view, &asked, experiment.as_deref()),
        table,
        overlay,
        known: known.unwrap_or_default(),
        now,
        asked,
        view: view.clone(),
    })
}

impl RunsFilter {
    fn last(&self) -> Last {
        self.last.unwrap_or_default()
    }
}
