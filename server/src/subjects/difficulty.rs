//! The rows of a dataset in a run that learns from them: how often each is solved, and how many are over time.

mod levels;
pub(crate) mod page;

use actix_web::{HttpRequest, HttpResponse, Responder as _, web};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::RowsAsked;
use lyceum_store::dataset_rows::{self, DifficultyWindow, RowFilter};
use lyceum_store::runs::{self, RunDetail};
use lyceum_store::steps::Stretch;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Filter, Format, Query, csv_of, list_of_run};
use crate::lab::Lab;

impl Filter for RowFilter {
    const IS_SORTED: bool = true;
    const COLUMNS: &'static [&'static str] = &[
        "row",
        "problem_id",
        "first_asked",
        "last_asked",
        "first_solved",
        "latest_answers",
        "latest_correct",
        "answers",
        "correct",
    ];

    fn sort(&self) -> Option<&'static str> {
        self.sort.filter(|sort| *sort != Default::default()).map(Into::into)
    }
}

/// The steps and the format requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverTime {
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
    format: Option<Format>,
}

/// The rows of a run by difficulty, over time.
#[derive(Debug, Serialize, ToSchema)]
struct Difficulty {
    /// Rows that are learned from; absent if the recipe does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u32>,
    /// Steps per window.
    width: u32,
    /// The rows at the end of each window.
    items: Vec<DifficultyWindow>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let rows = About::new("list_rows", "/runs/{id}/rows")
        .says("List the rows of a dataset that a run has asked, with when each was first solved.", "A page of rows");
    let over_time = About::new("show_difficulty", "/runs/{id}/difficulty").says(
        "Show how many rows of a run's dataset were solved never, sometimes and always when last asked, over \
                  time.",
        "Rows by difficulty; as CSV with a line for each window",
    );
    let over_time = Endpoint::get(over_time, "runs", show).id("id", "The run");
    let over_time = over_time.query::<OverTime>().answers::<Difficulty>();
    vec![list_of_run(rows, dataset_rows::page), over_time.or_csv()]
}

async fn show(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<OverTime>,
) -> Result<HttpResponse, ApiError> {
    let query = query.0;
    let db = lab.store.pool();
    let run = runs::find(db, *id).await?;
    let from = query.from.unwrap_or(0);
    let last = query.to.unwrap_or(u32::MAX).min(run.run.step.cast_unsigned());
    let steps = Stretch {
        from,
        to: query.to.unwrap_or(i32::MAX.cast_unsigned()),
        width: (last.saturating_sub(from) + 1).div_ceil(query.points.unwrap_or(120)),
    };
    let items = dataset_rows::difficulty(db, *id, steps).await?;
    if query.format == Some(Format::Csv) {
        return csv_of(&["step", "never", "sometimes", "always"], &items);
    }
    let difficulty = Difficulty { rows: asked(&lab, &run).map(|rows| rows.learned), width: steps.width, items };
    Ok(Answer::ok(difficulty).respond_to(&request))
}

/// The rows of a dataset that a run asks, if its recipe says so.
fn asked(lab: &Lab, run: &RunDetail) -> Option<RowsAsked> {
    let recipe = lab.registry.get(&run.run.recipe).ok()?;
    let config = serde_json::from_value(run.config.clone()).ok()?;
    recipe.rows_asked(&config).ok()?
}
