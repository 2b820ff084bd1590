//! `/archives`: the problem archives of several runs, maps side by side.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{archive::ArchiveConfig, id::ExecutionId};
use lyceum_store::{
    archive::{self, Archived},
    runs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray as _;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::{Filters, View},
    },
    lab::Lab,
    pages::archive::grid::{Axis, Colouring, Dimension, Grid},
};

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

/// The archive of a run.
#[derive(Serialize)]
struct Map {
    run_id: Uuid,
    run: String,
    /// Total number of cells.
    size: u32,
    filled: usize,
    coverage: f64,
    qd_score: f64,
    #[serde(skip)]
    grid: Grid,
}

#[derive(Template, Serialize)]
#[template(path = "archive/archives.html")]
struct ArchivesPage {
    #[serde(skip)]
    layout: Layout,
    x: Dimension,
    y: Dimension,
    colour: Colouring,
    maps: Vec<Map>,
    /// The newest runs with a filled cell.
    items: Vec<Archived>,
    /// Whether the archives differ in bounds or number of cells.
    differ: bool,
}

impl ArchivesPage {
    fn dimensions(&self) -> &'static [Dimension] {
        Dimension::VARIANTS
    }

    fn colourings(&self) -> &'static [Colouring] {
        Colouring::VARIANTS
    }

    fn is_x(&self, dimension: &Dimension) -> bool {
        self.x == *dimension
    }

    fn is_y(&self, dimension: &Dimension) -> bool {
        self.y == *dimension
    }

    fn is_colour(&self, colour: &Colouring) -> bool {
        self.colour == *colour
    }

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
        Some(format!("?runs={}{}", shown.join(","), self.drawing()))
    }

    fn drawing(&self) -> String {
        format!("&x={}&y={}&colour={}", self.x.name(), self.y.name(), self.colour.name())
    }

    /// The address of a tile's cells, on the page of the run's archive.
    fn tile(&self, map: &Map, x: &usize, y: &usize) -> String {
        format!("/runs/{}/archive?tile={x},{y}{}#tile", map.run_id, self.drawing())
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
    let (x, y) = (
        asked.x.unwrap_or(Dimension::AstDepth),
        asked.y.unwrap_or(Dimension::Cyclomatic),
    );
    let colour = asked.colour.unwrap_or_default();
    let (mut maps, mut configs): (Vec<Map>, Vec<ArchiveConfig>) = (Vec::new(), Vec::new());
    for run in chosen {
        let found = runs::find(db, ExecutionId(run)).await?;
        let config = ArchiveConfig::deserialize(&found.config["parameters"]["archive"]).unwrap_or_default();
        let cells = archive::map_at(db, ExecutionId(run), None).await?;
        let axes = (Axis::of(x, &config), Axis::of(y, &config));
        maps.push(Map {
            run_id: run,
            run: found.run.name,
            size: config.cells,
            filled: cells.len(),
            coverage: cells.len() as f64 / f64::from(config.cells.max(1)),
            qd_score: cells.iter().map(|cell| f64::from(cell.objective)).sum(),
            grid: Grid::of(&cells, axes, colour, found.run.step),
        });
        configs.push(config);
    }
    // All maps share one colour scale.
    let ends = maps.iter().filter_map(|map| map.grid.range);
    let ends = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    for map in &mut maps {
        map.grid.range = ends;
    }
    view.show(&ArchivesPage {
        layout: view.layout("Archives", Section::Archives),
        x,
        y,
        colour,
        maps,
        items,
        differ: configs.windows(2).any(|pair| pair[0] != pair[1]),
    })
}

/// The runs of a parameter, each once.
fn ids(runs: &str) -> Result<Vec<Uuid>, ApiError> {
    let wrong = |detail: String| ApiError::invalid_query(vec![("runs".to_owned(), detail)]);
    let mut ids: Vec<Uuid> = Vec::new();
    for id in runs.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        let run = id.parse();
        let run = run.map_err(|_| {
            wrong(format!(
                "`{id}` is not the id of a run; ids separated by commas are valid"
            ))
        })?;
        if !ids.contains(&run) {
            ids.push(run);
        }
    }
    match ids.len() {
        count if count > MAPS => Err(wrong(format!("{count} runs: at most {MAPS} maps are shown at once"))),
        _ => Ok(ids),
    }
}
