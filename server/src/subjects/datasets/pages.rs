//! `/datasets`: imported datasets by purpose, one of them with its rows, and the form for an import.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::benchmark::shipped_suites;
use lyceum_core::dataset::{ImportReport, MapField, OracleKind, Purpose, RowFormat, row_formats};
use lyceum_core::id::DatasetId;
use lyceum_store::datasets::{self, BadRow, CheckState, Dataset, DatasetCheck, DatasetRow, Overlap};
use lyceum_store::page::{self, Window};
use lyceum_store::rewards::{self, StoredReward};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::api_error::ApiError;
use crate::contract::{Asked, Listing, Order};
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;
use crate::subjects::datasets::DatasetFilter;

#[derive(Template, Serialize)]
#[template(path = "datasets.html")]
struct DatasetsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<Dataset>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    purpose: Option<Purpose>,
}

impl DatasetsPage {
    /// Names of purposes, and whether each was chosen.
    fn purposes(&self) -> Vec<(&'static str, bool)> {
        let all = Purpose::ALL.iter();
        all.map(|purpose| (purpose.name(), self.purpose == Some(*purpose))).collect()
    }
}

/// The list of datasets.
#[get("/datasets")]
pub(crate) async fn show_datasets(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<Asked<DatasetFilter>>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = asked.listing("datasets")?;
    let purpose = asked.filter.purpose.map(Purpose::from);
    let page = listing.page(datasets::page(lab.store.pool(), purpose, listing.window()).await?);
    view.show(&DatasetsPage {
        layout: view.layout("Datasets", Section::Datasets),
        items: page.items,
        pager: view.pager(page.next),
        purpose,
    })
}

/// Rows per page.
const ROWS: u32 = 20;

/// Rewards that are shown.
const REWARDS: u32 = 10;

/// Bad rows that are shown.
const BAD_ROWS: Window = Window { limit: 100, after: None, order: page::Order::Oldest };

/// Filters of rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsFilter {
    cursor: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "dataset.html")]
struct DatasetPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    dataset: Dataset,
    /// Other datasets with the same questions.
    overlaps: Vec<Overlap>,
    /// The check of its tests.
    check: Option<DatasetCheck>,
    /// The first rows whose tests cannot be used.
    bad_rows: Vec<BadRow>,
    /// The rewards that its rows name.
    rewards: Vec<StoredReward>,
    /// The rows of the page, in order.
    items: Vec<DatasetRow>,
    #[serde(flatten)]
    pager: Pager,
}

impl DatasetPage {
    fn row(&self, row: &DatasetRow) -> Excerpt {
        let text = serde_json::to_string_pretty(&row.row).unwrap_or_default();
        excerpt(&text, SHOWN_IN_LIST)
    }

    /// How far the check of its tests is.
    fn checked(&self, check: &DatasetCheck) -> String {
        match (check.state, check.bad_rows) {
            (CheckState::Unchecked, _) => "unchecked: runs and evaluations refuse it until they are tried".to_owned(),
            (CheckState::Checking, bad) => {
                let [done, all] = [check.rows, self.dataset.rows].map(|rows| format::count(&i64::from(rows)));
                let found = if bad > 0 { format!(", {bad} bad so far") } else { String::new() };
                format!("being checked: {done} of {all} rows{found}")
            }
            (CheckState::Checked, 0) => "checked: no bad rows".to_owned(),
            (CheckState::Checked, bad) => format!("checked: {}", format::counted(&bad, "bad row")),
        }
    }

    fn is_checking(&self, check: &DatasetCheck) -> bool {
        check.state == CheckState::Checking
    }

    /// The body that asks for a check.
    fn check_body(&self) -> String {
        json!({"spec": {"type": "dataset_check", "dataset": self.dataset.id}}).to_string()
    }

    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn source(&self, reward: &StoredReward) -> Excerpt {
        excerpt(&reward.source, SHOWN_IN_LIST)
    }

    fn message(&self, row: &BadRow) -> Excerpt {
        excerpt(&row.message, SHOWN_IN_LIST)
    }

    /// How many bad rows are not shown.
    fn more_bad_rows(&self) -> i64 {
        let all = self.check.as_ref().map_or(0, |check| check.bad_rows);
        all - self.bad_rows.len() as i64
    }

    /// What the filters of its import left out.
    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn left_out(&self, report: &ImportReport) -> String {
        let counts = [
            (report.duplicates, "duplicates"),
            (report.too_short, "too short"),
            (report.too_long, "too long"),
            (report.bad, "unreadable"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> =
            some.map(|(count, why)| format!("{} {why}", format::count(&count.cast_signed()))).collect();
        match some.is_empty() {
            true => "nothing".to_owned(),
            false => format!("{}, of {} rows", some.join(", "), format::count(&report.read.cast_signed())),
        }
    }

    /// Whether exactly one of the two is a benchmark.
    fn is_harmful(&self, overlap: &Overlap) -> bool {
        let benchmark = Purpose::Benchmark;
        (self.dataset.purpose == benchmark) != (overlap.purpose == benchmark)
    }

    fn has_harm(&self) -> bool {
        self.overlaps.iter().any(|overlap| self.is_harmful(overlap))
    }
}

#[get("/datasets/{id}")]
pub(crate) async fn show_one_dataset(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<DatasetId>,
    filters: Filters<RowsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let db = lab.store.pool();
    let listing = Listing::new("rows", Some(ROWS), asked.cursor.as_deref(), Some(Order::Oldest))?;
    let dataset = datasets::find(db, *id).await?;
    let page = listing.page(datasets::shown_rows(db, *id, listing.window()).await?);
    view.show(&DatasetPage {
        layout: view.layout(dataset.name.clone(), Section::Datasets),
        overlaps: datasets::overlaps(db, *id).await?,
        check: datasets::check(db, *id).await?,
        bad_rows: datasets::bad_rows(db, *id, &BAD_ROWS).await?.items,
        rewards: rewards::of_dataset(db, *id, REWARDS).await?,
        items: page.items,
        pager: view.pager(page.next),
        dataset,
    })
}

#[derive(Template, Serialize)]
#[template(path = "dataset_new.html")]
struct NewDatasetPage {
    #[serde(skip)]
    layout: Layout,
    purposes: [&'static str; Purpose::ALL.len()],
    formats: Vec<NamedFormat>,
    suites: Vec<NamedSuite>,
    oracles: [&'static str; OracleKind::ALL.len()],
    /// The fields of a map.
    fields: Vec<NamedField>,
}

/// A format of rows.
#[derive(Serialize)]
struct NamedFormat {
    name: &'static str,
    title: &'static str,
    source: &'static str,
}

/// A suite, whose own file can be imported.
#[derive(Serialize)]
struct NamedSuite {
    name: &'static str,
    title: &'static str,
}

/// A field of a map.
#[derive(Serialize)]
struct NamedField {
    name: &'static str,
    about: &'static str,
    /// The kinds of oracle that have it.
    oracles: Vec<&'static str>,
    /// Those that need it.
    needed: Vec<&'static str>,
}

impl NamedFormat {
    fn of(format: &'static RowFormat) -> Self {
        Self { name: &format.name, title: &format.title, source: &format.source }
    }
}

impl NamedField {
    fn of(field: &MapField) -> Self {
        let names = |oracles: &[OracleKind]| oracles.iter().map(|oracle| oracle.name()).collect();
        Self { name: field.name, about: field.about, oracles: names(field.oracles), needed: names(field.needed) }
    }
}

/// The form.
#[get("/datasets/new")]
pub(crate) async fn show_new_dataset(view: View) -> Result<HttpResponse, ApiError> {
    let suites = shipped_suites().iter().map(|suite| NamedSuite { name: &suite.name, title: &suite.title });
    view.show(&NewDatasetPage {
        layout: view.layout("Import a dataset", Section::Datasets),
        purposes: Purpose::ALL.map(Purpose::name),
        formats: row_formats().iter().map(NamedFormat::of).collect(),
        suites: suites.collect(),
        oracles: OracleKind::ALL.map(OracleKind::name),
        fields: MapField::ALL.iter().map(NamedField::of).collect(),
    })
}
