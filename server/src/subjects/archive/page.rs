//! `/runs/{id}/archive`: the map of problems at any step, optionally next to another run's.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::archive::{self, Growth, MapCell};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::grid::{self, Axis, Colouring, Dimension};
use super::map::{Drawing, Map, align};
use crate::api_error::ApiError;
use crate::frame::figure::{Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::{self, RunFrame};
use crate::frame::steps::{POINTS, stride};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

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

#[derive(Template, Serialize)]
#[template(path = "archive/page.html")]
struct ArchivePage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    #[serde(flatten)]
    drawing: Drawing,
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
    fn is_beside(&self, run: &Uuid) -> bool {
        self.beside == Some(*run)
    }

    fn last_step(&self) -> i32 {
        self.run.last_step()
    }

    fn shown_step(&self) -> i64 {
        self.step.map_or_else(|| i64::from(self.last_step()), i64::from)
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
    let drawing = Drawing::new(asked.x, asked.y, asked.colour);
    let mut maps = vec![Map::load(db, &run.detail, asked.step, drawing).await?];
    if let Some(beside) = asked.beside {
        let other = runs::find(db, ExecutionId(beside)).await?;
        maps.push(Map::load(db, &other, asked.step, drawing).await?);
    }
    let differ = align(&mut maps);
    let mut base = format!("?{}", drawing.query());
    if let Some(step) = asked.step {
        base.push_str(&format!("&step={step}"));
    }
    if let Some(beside) = asked.beside {
        base.push_str(&format!("&beside={beside}"));
    }
    for map in &mut maps {
        map.base.clone_from(&base);
        map.open = tile;
    }
    let axes = drawing.axes(&maps[0].config);
    let open = tile.map(|tile| opened(&maps, tile, axes)).unwrap_or_default();
    let stride = stride(run.run().step, POINTS);
    let growth = archive::growth(db, *id, stride).await?;
    let others = run::newest(&view, db, 50).await?;
    view.show(&ArchivePage {
        layout: view.layout(format!("Archive · {}", run.run().name), Section::Runs),
        drawing,
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
    let places = text.split_once(',').and_then(|(x, y)| Some((x.parse().ok()?, y.parse().ok()?)));
    places.ok_or_else(|| {
        let detail = format!("`{text}` is not a tile; a tile is two positions from 0, such as 3,5");
        ApiError::invalid_query(vec![("tile".to_owned(), detail)])
    })
}

fn opened(maps: &[Map], tile: (usize, usize), axes: (Axis, Axis)) -> Vec<Opened> {
    let of = |map: &Map| {
        let inside = |cell: &&MapCell| grid::place(cell, axes) == Some(tile);
        let open = |cell: &MapCell| Opened { run_id: map.run_id, run: map.run.clone(), cell: cell.clone() };
        map.cells.iter().flatten().filter(inside).map(open).collect::<Vec<_>>()
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
            Series { name: "occupied cells".to_owned(), style: Style::Bold, points: cells, ..Series::default() },
            Series {
                name: "insertions".to_owned(),
                points: growth.iter().map(insertions).collect(),
                ..Series::default()
            },
        ],
        ..Figure::default()
    }
}
