//! Maps of archives, drawn alike so that they can be compared.

use lyceum_core::archive::ArchiveConfig;
use lyceum_core::id::ExecutionId;
use lyceum_store::archive::{self, MapCell};
use lyceum_store::runs;
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;
use strum::VariantArray as _;
use uuid::Uuid;

use super::grid::{Axis, Colouring, Dimension, Grid};
use crate::api_error::ApiError;

/// What maps show.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Drawing {
    pub(super) x: Dimension,
    pub(super) y: Dimension,
    pub(super) colour: Colouring,
}

impl Drawing {
    pub(super) fn new(x: Option<Dimension>, y: Option<Dimension>, colour: Option<Colouring>) -> Self {
        Self {
            x: x.unwrap_or(Dimension::AstDepth),
            y: y.unwrap_or(Dimension::Cyclomatic),
            colour: colour.unwrap_or_default(),
        }
    }

    /// Its part of an address.
    pub(super) fn query(&self) -> String {
        format!("x={}&y={}&colour={}", self.x.name(), self.y.name(), self.colour.name())
    }

    pub(super) fn axes(&self, config: &ArchiveConfig) -> (Axis, Axis) {
        (Axis::of(self.x, config), Axis::of(self.y, config))
    }

    pub(super) fn dimensions(&self) -> &'static [Dimension] {
        Dimension::VARIANTS
    }

    pub(super) fn colourings(&self) -> &'static [Colouring] {
        Colouring::VARIANTS
    }

    pub(super) fn is_x(&self, dimension: &Dimension) -> bool {
        self.x == *dimension
    }

    pub(super) fn is_y(&self, dimension: &Dimension) -> bool {
        self.y == *dimension
    }

    pub(super) fn is_colour(&self, colour: &Colouring) -> bool {
        self.colour == *colour
    }
}

/// The archive of a run.
#[derive(Serialize)]
pub(super) struct Map {
    pub(super) run_id: Uuid,
    pub(super) run: String,
    /// Total number of cells.
    pub(super) size: u32,
    pub(super) filled: usize,
    pub(super) coverage: f64,
    pub(super) qd_score: f64,
    /// The filled cells, where a page has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cells: Option<Vec<MapCell>>,
    #[serde(skip)]
    pub(super) grid: Grid,
    #[serde(skip)]
    pub(super) config: ArchiveConfig,
    /// The address to which a tile is added.
    #[serde(skip)]
    pub(super) base: String,
    /// The tile whose cells are listed.
    #[serde(skip)]
    pub(super) open: Option<(usize, usize)>,
}

impl Map {
    /// The archive of a run after a step; its current one without.
    pub(super) async fn load(
        db: &PgPool,
        run: &runs::RunDetail,
        step: Option<u32>,
        drawing: Drawing,
    ) -> Result<Self, ApiError> {
        // The defaults if the recipe has none.
        let config = ArchiveConfig::deserialize(&run.config["parameters"]["archive"]).unwrap_or_default();
        let run = &run.run;
        let cells = archive::map_at(db, ExecutionId(run.id), step).await?;
        let now = step.map_or(run.step, u32::cast_signed);
        Ok(Self {
            run_id: run.id,
            run: run.name.clone(),
            size: config.cells,
            filled: cells.len(),
            coverage: cells.len() as f64 / f64::from(config.cells.max(1)),
            qd_score: cells.iter().map(|cell| f64::from(cell.objective)).sum(),
            grid: Grid::of(&cells, drawing.axes(&config), drawing.colour, now),
            cells: Some(cells),
            config,
            base: format!("/runs/{}/archive?{}", run.id, drawing.query()),
            open: None,
        })
    }

    /// The address of a tile's cells.
    pub(super) fn tile(&self, x: &usize, y: &usize) -> String {
        format!("{}&tile={x},{y}#tile", self.base)
    }

    pub(super) fn is_open(&self, x: &usize, y: &usize) -> bool {
        self.open == Some((*x, *y))
    }
}

/// Gives maps one colour scale. Whether they differ in bounds or number of cells.
pub(super) fn align(maps: &mut [Map]) -> bool {
    let ends = maps.iter().filter_map(|map| map.grid.range);
    let ends = ends.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    for map in maps.iter_mut() {
        map.grid.range = ends;
    }
    maps.windows(2).any(|pair| pair[0].config != pair[1].config)
}
