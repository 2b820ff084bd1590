//! Rows of a dataset in a run that learns from them: difficulty over time, progress by row, held-out measurements.

use actix_web::{HttpRequest, HttpResponse, Responder as _, get, http::header::LINK, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    dataset_rows::{self, DifficultyWindow, LatestAnswers, RowFilter, RowProgress, RowSort},
    held_out::{self, HeldOutResult},
    runs::{self, RunDetail},
    steps::Stretch,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use utoipa::ToSchema;

use super::{
    Api,
    answer::{Answer, csv},
    bounds,
    page::{Listing, Order, Page},
    query::Query,
};
use crate::api_error::ApiError;

/// The format of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ListFormat {
    /// JSON.
    #[default]
    Json,
    /// CSV with a header; the header `Link` has the next page.
    Csv,
}

/// How a row was answered when it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Latest {
    /// Never correctly.
    Never,
    /// Sometimes correctly.
    Sometimes,
    /// Always correctly.
    Always,
}

impl From<Latest> for LatestAnswers {
    fn from(latest: Latest) -> Self {
        match latest {
            Latest::Never => Self::Never,
            Latest::Sometimes => Self::Sometimes,
            Latest::Always => Self::Always,
        }
    }
}

/// The order of a list of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowOrder {
    /// By place in the dataset.
    #[default]
    Row,
    /// First solved first; those never solved last.
    FirstSolved,
    /// The other way round.
    LastSolved,
    /// Smallest share of correct answers first.
    Hardest,
    /// Largest share of correct answers first.
    Easiest,
}

impl RowOrder {
    /// The list's name in cursors, and the store's order.
    pub(crate) fn list(self) -> (&'static str, RowSort) {
        match self {
            Self::Row => ("rows", RowSort::Row),
            Self::FirstSolved => ("rows.first_solved", RowSort::FirstSolved),
            Self::LastSolved => ("rows.last_solved", RowSort::LastSolved),
            Self::Hardest => ("rows.hardest", RowSort::Hardest),
            Self::Easiest => ("rows.easiest", RowSort::Easiest),
        }
    }
}

/// Filters of rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRowsQuery {
    /// `true` for rows with a correct answer, `false` for rows without any.
    solved: Option<bool>,
    /// How they were answered when they were last asked.
    latest: Option<Latest>,
    /// First solved in this step or later.
    #[schemars(range(max = i32::MAX))]
    first_solved_from: Option<u32>,
    /// First solved in this step or earlier.
    #[schemars(range(max = i32::MAX))]
    first_solved_to: Option<u32>,
    /// `row` (the default), `first_solved`, `last_solved`, `hardest` or `easiest`.
    sort: Option<RowOrder>,
    /// `json` (the default) or `csv`.
    format: Option<ListFormat>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

crate::openapi::query!(ListRowsQuery);

/// The steps and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowDifficultyQuery {
    /// The first step.
    #[schemars(range(max = i32::MAX))]
    from: Option<u32>,
    /// The last step.
    #[schemars(range(max = i32::MAX))]
    to: Option<u32>,
    /// Maximum number of windows; 120 by default.
    #[schemars(range(min = 1, max = 10_000))]
    points: Option<u32>,
    /// `json` (the default) or `csv`.
    format: Option<ListFormat>,
}

crate::openapi::query!(ShowDifficultyQuery);

/// The part of a list of measurements requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListHeldOutQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::openapi::query!(ListHeldOutQuery);

/// The rows of a run by difficulty, over time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Difficulty {
    /// Rows that are learned from; absent if the recipe does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u32>,
    /// Steps per window.
    width: u32,
    /// The rows at the end of each window.
    items: Vec<DifficultyWindow>,
}

/// List the rows of a dataset that a run has asked, with when each was first solved.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListRowsQuery),
    responses((status = 200, description = "A page of rows",
        content((Page<RowProgress> = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/rows")]
pub(crate) async fn list_rows(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListRowsQuery>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let (name, sort) = query.sort.unwrap_or_default().list();
    let listing = Listing::new(name, query.limit, query.cursor.as_deref(), None)?;
    let filter = RowFilter {
        solved: query.solved,
        latest: query.latest.map(LatestAnswers::from),
        first_solved_from: query.first_solved_from,
        first_solved_to: query.first_solved_to,
    };
    let db = api.store.pool();
    runs::find(db, *id).await?;
    let page = dataset_rows::page(db, *id, filter, sort, listing.window()).await?;
    if query.format.unwrap_or_default() == ListFormat::Json {
        return Ok(listing.answer(&request, page).respond_to(&request));
    }
    let page = listing.page(page);
    let mut text =
        "row,problem_id,first_asked,last_asked,first_solved,latest_answers,latest_correct,answers,correct\n".to_owned();
    for row in &page.items {
        let first_solved = row.first_solved.map(|step| step.to_string()).unwrap_or_default();
        // Writing to a string never fails.
        let _ = writeln!(
            text,
            "{},{},{},{},{first_solved},{},{},{},{}",
            row.row,
            row.problem_id,
            row.first_asked,
            row.last_asked,
            row.latest_answers,
            row.latest_correct,
            row.answers,
            row.correct
        );
    }
    let mut response = csv(text);
    if let Some(link) = page.link(&request).and_then(|link| link.parse().ok()) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

/// Show how many rows of a run's dataset were solved never, sometimes and always when last asked, over time.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ShowDifficultyQuery),
    responses((status = 200, description = "Rows by difficulty; as CSV with a line for each window",
        content((Difficulty = "application/json"), (String = "text/csv")))),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/difficulty")]
pub(crate) async fn show_difficulty(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ShowDifficultyQuery>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let db = api.store.pool();
    let run = runs::find(db, *id).await?;
    let from = query.from.unwrap_or(0);
    let last = query.to.unwrap_or(u32::MAX).min(run.run.step.cast_unsigned());
    let steps = Stretch {
        from,
        to: query.to.unwrap_or(i32::MAX.cast_unsigned()),
        width: (last.saturating_sub(from) + 1).div_ceil(query.points.unwrap_or(120)),
    };
    let items = dataset_rows::difficulty(db, *id, steps).await?;
    if query.format.unwrap_or_default() == ListFormat::Json {
        let difficulty = Difficulty {
            rows: learned_rows(&api, &run),
            width: steps.width,
            items,
        };
        return Ok(Answer::ok(difficulty).respond_to(&request));
    }
    let mut text = "step,never,sometimes,always\n".to_owned();
    for window in &items {
        let DifficultyWindow {
            step,
            never,
            sometimes,
            always,
        } = window;
        // Writing to a string never fails.
        let _ = writeln!(text, "{step},{never},{sometimes},{always}");
    }
    Ok(csv(text))
}

/// List the measurements of a run's members on held-out rows.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListHeldOutQuery),
    responses((status = 200, description = "A page of measurements", body = Page<HeldOutResult>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/held-out")]
pub(crate) async fn list_held_out(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListHeldOutQuery>,
) -> Result<Answer<Page<HeldOutResult>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("held_out", query.limit, query.cursor.as_deref(), query.order)?;
    let db = api.store.pool();
    runs::find(db, *id).await?;
    Ok(listing.answer(&request, held_out::page(db, *id, listing.window()).await?))
}

/// How many rows of its dataset a run learns from, if its recipe says so.
pub(crate) fn learned_rows(api: &Api, run: &RunDetail) -> Option<u32> {
    let recipe = api.registry.get(&run.run.recipe).ok()?;
    let config = serde_json::from_value(run.config.clone()).ok()?;
    Some(recipe.rows_asked(&config).ok()??.learned)
}
