//! `/archives`: the problem archives of several runs, maps side by side.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::archive::{self, Archived};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::grid::{Colouring, Dimension};
use super::map::{Drawing, Map, align};
use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Maps that are shown, and those that are shown unless others are chosen.
const MAPS: usize = 8;
const FIRST: usize = 4;
/// Runs that can be chosen.
const RUNS: u32 = 100;

/// The maps to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchivesFilter {
    /// Runs, separated by commas; by default the newest with a filled cell.
    runs: Option<String>,
    x: Option<Dimension>,
    y: Option<Dimension>,
    colour: Option<Colouring>,
}

#[derive(Template, Serialize)]
#[template(path = "archive/archives.html")]
struct ArchivesPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    drawing: Drawing,
    maps: Vec<Map>,
    /// The newest runs with a filled cell.
    items: Vec<Archived>,
    /// Whether the archives differ in bounds or number of cells.
    differ: bool,
}

impl ArchivesPage {
    fn is_shown(&self, run: &Uuid) -> bool {
        self.maps.iter().any(|map| map.run_id == *run)
    }

    fn shown(&self) -> Vec<String> {
        self.maps.iter().map(|map| map.run_id.to_string()).collect()
    }

    /// The address of this page with the map of `run` too, or without it; none if there are as many maps as can be, or it is the
    /// only one.
    fn toggled(&self, run: &Uuid) -> Option<String> {
        let mut shown = self.shown();
        if self.is_shown(run) && shown.len() > 1 {
            shown.retain(|one| *one != run.to_string());
        } else if !self.is_shown(run) && shown.len() < MAPS {
            shown.push(run.to_string());
        } else {
            return None;
        }
        Some(format!("?runs={}&{}", shown.join(","), self.drawing.query()))
    }
}

#[get("/archives")]
pub(crate) async fn show_archives(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<ArchivesFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let items = archive::archived(db, RUNS).await?;
    let chosen: Vec<Uuid> = match asked.runs.as_deref() {
        Some(runs) => ids(runs)?,
        None => items.iter().take(FIRST).map(|one| one.id).collect(),
    };
    let drawing = Drawing::new(asked.x, asked.y, asked.colour);
    let mut maps = Vec::new();
    for run in chosen {
        let run = runs::find(db, ExecutionId(run)).await?;
        let mut map = Map::load(db, &run, None, drawing).await?;
        map.cells = None;
        maps.push(map);
    }
    view.show(&ArchivesPage {
        layout: view.layout("Archives", Section::Archives),
        drawing,
        differ: align(&mut maps),
        maps,
        items,
    })
}

/// The runs of a parameter, each once.
fn ids(runs: &str) -> Result<Vec<Uuid>, ApiError> {
    let wrong = |detail: String| ApiError::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids: Vec<Uuid> = Vec::new();
    for id in runs.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let run = id.parse();
        let run =
            run.map_err(|_| wrong(format!("`{id}` is not the id of a run; ids separated by commas are valid")))?;
        if !ids.contains(&run) {
            ids.push(run);
        }
    }
    match ids.len() {
        count if count > MAPS => Err(wrong(format!("{count} runs: at most {MAPS} maps are shown at once"))),
        _ => Ok(ids),
    }
}
