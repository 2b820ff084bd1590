//! `/runs/{id}/archive`: the map of problems at any step, optionally next to another run's.

pub(crate) mod grid;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{archive::ArchiveConfig, id::ExecutionId};
use lyceum_store::{
    archive::{self, Growth, MapCell},
    runs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray as _;
use uuid::Uuid;

use self::grid::{Axis, Colouring, Dimension, Grid};
use crate::{
    api_error::ApiError,
    frame::{
        figure::{Figure, Series, Style},
        layout::{Layout, Section, Tab},
        run::{self, RunFrame},
        steps::{POINTS, stride},
        view::{Filters, View},
    },
    lab::Lab,
};

/// The map to show.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveFilter {
    /// The descriptor on the x axis.
    x: Option<Dimension>,
    /// The descriptor on the y axis.
    y: Option<Dimension>,
    /// The colouring of tiles.
    colour: Option<Colouring>,
    /// The map after this step; by default the current one.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    /// A run whose map is shown next to it.
    beside: Option<Uuid>,
    /// The tile whose cells are listed: its positions on the two axes, such as `3,5`.
    tile: Option<String>,
}

/// The archive of a run at a step.
#[derive(Serialize)]
struct Map {
    run_id: Uuid,
    run: String,
    /// Total number of cells.
    size: u32,
    coverage: f64,
    qd_score: f64,
    cells: Vec<MapCell>,
    #[serde(skip)]
    grid: Grid,
}

#[derive(Template, Serialize)]
#[template(path = "run/archive.html")]
struct ArchivePage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    x: Dimension,
    y: Dimension,
    colour: Colouring,
    step: Option<u32>,
    maps: Vec<Map>,
    growth: Vec<Growth>,
    /// The open tile and its cells.
    #[serde(skip)]
    tile: Option<(usize, usize)>,
    #[serde(skip)]
    open: Vec<Opened>,
    #[serde(skip)]
    beside: Option<Uuid>,
    #[serde(skip)]
    others: Vec<runs::Run>,
    #[serde(skip)]
    differ: bool,
    #[serde(skip)]
    figures: Vec<Figure>,
}

/// A cell of the open tile.
struct Opened {
    run_id: Uuid,
    run: String,
    cell: MapCell,
}

impl ArchivePage {
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

    fn is_beside(&self, run: &Uuid) -> bool {
        self.beside == Some(*run)
    }

    fn is_open(&self, x: &usize, y: &usize) -> bool {
        self.tile == Some((*x, *y))
    }

    fn last_step(&self) -> i32 {
        self.run.last_step()
    }

    fn shown_step(&self) -> i64 {
        self.step.map_or_else(|| i64::from(self.last_step()), i64::from)
    }

    /// The address of this page with a tile open.
    fn address(&self, x: &usize, y: &usize) -> String {
        let mut address = format!("?x={}&y={}&colour={}", self.x.name(), self.y.name(), self.colour.name());
        if let Some(step) = self.step {
            address.push_str(&format!("&step={step}"));
        }
        if let Some(beside) = self.beside {
            address.push_str(&format!("&beside={beside}"));
        }
        address.push_str(&format!("&tile={x},{y}#tile"));
        address
    }
}

/// The archive of a run.
#[get("/runs/{id}/archive")]
pub(crate) async fn show_archive(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<ArchiveFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let tile = asked.tile.as_deref().map(tile_of).transpose()?;
    let run = RunFrame::load(&lab, *id, Tab::Archive).await?;
    let (x, y) = (
        asked.x.unwrap_or(Dimension::AstDepth),
        asked.y.unwrap_or(Dimension::Cyclomatic),
    );
    let colour = asked.colour.unwrap_or_default();
    let config = config_of(&run.detail.config);
    let axes = (Axis::of(x, &config), Axis::of(y, &config));
    let mut maps = vec![map(&lab, &run.detail.run, asked.step, axes, colour, config.cells).await?];
    let mut differ = false;
    if let Some(beside) = asked.beside {
        let other = runs::find(db, ExecutionId(beside)).await?;
        let others = config_of(&other.config);
        differ = others != config;
        maps.push(map(&lab, &other.run, asked.step, axes, colour, others.cells).await?);
    }
    // Two maps share one colour scale.
    let ends = maps
        .iter()
        .filter_map(|map| map.grid.range)
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    for map in &mut maps {
        map.grid.range = ends;
    }
    let open = tile.map(|tile| opened(&maps, tile, axes)).unwrap_or_default();
    let stride = stride(run.run().step, POINTS);
    let growth = archive::growth(db, *id, stride).await?;
    let others = run::newest(&view, db, 50).await?;
    view.show(&ArchivePage {
        layout: view.layout(format!("Archive · {}", run.run().name), Section::Runs),
        x,
        y,
        colour,
        step: asked.step,
        figures: view.news(vec![growth_of(&growth)], stride),
        growth,
        maps,
        tile,
        open,
        beside: asked.beside,
        others: others.into_iter().filter(|other| other.id != id.0).collect(),
        differ,
        run,
    })
}

fn tile_of(text: &str) -> Result<(usize, usize), ApiError> {
    let places = text
        .split_once(',')
        .and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
    places.ok_or_else(|| {
        let detail = format!("`{text}` is not a tile; a tile is two positions from 0, such as 3,5");
        ApiError::invalid_query(vec![("tile".to_owned(), detail)])
    })
}

/// The archive's part of a run's config; the defaults if the recipe has none.
fn config_of(config: &serde_json::Value) -> ArchiveConfig {
    ArchiveConfig::deserialize(&config["parameters"]["archive"]).unwrap_or_default()
}

async fn map(
    lab: &Lab,
    run: &runs::Run,
    step: Option<u32>,
    axes: (Axis, Axis),
    colour: Colouring,
    size: u32,
) -> Result<Map, ApiError> {
    let cells = archive::map_at(lab.store.pool(), ExecutionId(run.id), step).await?;
    let now = step.map_or(run.step, u32::cast_signed);
    Ok(Map {
        run_id: run.id,
        run: run.name.clone(),
        size,
        coverage: cells.len() as f64 / f64::from(size.max(1)),
        qd_score: cells.iter().map(|cell| f64::from(cell.objective)).sum(),
        grid: Grid::of(&cells, axes, colour, now),
        cells,
    })
}

fn opened(maps: &[Map], tile: (usize, usize), axes: (Axis, Axis)) -> Vec<Opened> {
    let of = |map: &Map| {
        let inside = |cell: &&MapCell| grid::place(cell, axes) == Some(tile);
        let open = |cell: &MapCell| Opened {
            run_id: map.run_id,
            run: map.run.clone(),
            cell: cell.clone(),
        };
        map.cells.iter().filter(inside).map(open).collect::<Vec<_>>()
    };
    maps.iter().flat_map(of).collect()
}

fn growth_of(growth: &[Growth]) -> Figure {
    let mut taken = 0.0;
    let cells = growth.iter().map(|step| {
        taken += step.new as f64;
        (f64::from(step.step), Some(taken))
    });
    let cells: Vec<_> = cells.collect();
    let insertions = |step: &Growth| (f64::from(step.step), Some((step.new + step.improved) as f64));
    Figure {
        id: "growth".to_owned(),
        title: "Occupied cells and insertions".to_owned(),
        note: "If the curve flattens, nothing new is being invented.".to_owned(),
        x: "step".to_owned(),
        y: "cells".to_owned(),
        series: vec![
            Series {
                name: "occupied cells".to_owned(),
                style: Style::Bold,
                points: cells,
                ..Series::default()
            },
            Series {
                name: "insertions".to_owned(),
                points: growth.iter().map(insertions).collect(),
                ..Series::default()
            },
        ],
        ..Figure::default()
    }
}
