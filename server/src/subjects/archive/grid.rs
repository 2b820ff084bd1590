//! Groups the cells of an archive into tiles by two of the four descriptors of their elites.

use lyceum_core::archive::ArchiveConfig;
use lyceum_store::archive::MapCell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::frame::format::value;
use crate::frame::sides::range;

/// Maximum tiles of an axis.
const TILES: f32 = 26.0;

/// A descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Dimension {
    /// Nesting depth of the syntax tree.
    AstDepth,
    /// Cyclomatic complexity.
    Cyclomatic,
    /// Lines of code.
    Loc,
    /// Distinct variables.
    Variables,
}

impl Dimension {
    /// Its name in addresses.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Its display name.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::AstDepth => "AST depth",
            Self::Cyclomatic => "cyclomatic complexity",
            Self::Loc => "lines of code",
            Self::Variables => "variables",
        }
    }

    fn of(self, cell: &MapCell) -> Option<f32> {
        match self {
            Self::AstDepth => cell.ast_depth,
            Self::Cyclomatic => cell.cyclomatic,
            Self::Loc => cell.loc,
            Self::Variables => cell.variables,
        }
    }
}

/// The colouring of tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(Deserialize, Serialize, JsonSchema, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Colouring {
    /// Solve rate of the elites.
    #[default]
    SolveRate,
    /// Sum of the elites' four descriptors.
    Complexity,
    /// Steps since the elites were inserted.
    Age,
    /// The elites' objective.
    Objective,
}

impl Colouring {
    /// Its name in addresses.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Its display name.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::SolveRate => "solve rate",
            Self::Complexity => "complexity (sum of descriptors)",
            Self::Age => "age in steps",
            Self::Objective => "objective",
        }
    }

    fn of(self, cell: &MapCell, now: i32) -> Option<f64> {
        match self {
            Self::SolveRate => cell.solve_rate.map(f64::from),
            Self::Complexity => {
                let parts = [cell.ast_depth, cell.cyclomatic, cell.loc, cell.variables];
                parts.iter().copied().sum::<Option<f32>>().map(f64::from)
            }
            Self::Age => Some(f64::from(now - cell.step)),
            Self::Objective => Some(f64::from(cell.objective)),
        }
    }
}

/// A descriptor divided into tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    dimension: Dimension,
    low: f32,
    width: f32,
    tiles: usize,
}

impl Axis {
    /// The tiles of `dimension` between the archive's bounds; one per whole number if they are few.
    pub(crate) fn of(dimension: Dimension, config: &ArchiveConfig) -> Self {
        let bounds = config.bounds().into_iter().find(|(name, _)| *name == dimension.name());
        let [low, high] = bounds.map_or([0.0, 1.0], |(_, bounds)| bounds);
        let span = (high - low).max(1.0);
        let width = (span / (TILES - 1.0)).ceil().max(1.0);
        Self { dimension, low, width, tiles: (span / width).floor() as usize + 1 }
    }

    fn place(self, cell: &MapCell) -> Option<usize> {
        let value = self.dimension.of(cell)?;
        let place = ((value - self.low) / self.width).floor().max(0.0) as usize;
        Some(place.min(self.tiles - 1))
    }

    fn label(self, place: usize) -> String {
        let start = self.low + self.width * place as f32;
        match self.width > 1.0 {
            true => format!("{}–{}", value(&f64::from(start)), value(&f64::from(start + self.width - 1.0))),
            false => value(&f64::from(start)),
        }
    }
}

/// The tile of `cell`.
pub(crate) fn place(cell: &MapCell, (x, y): (Axis, Axis)) -> Option<(usize, usize)> {
    Some((x.place(cell)?, y.place(cell)?))
}

/// Cells with similar elites.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tile {
    /// The number of results.
    pub(crate) cells: usize,
    /// The mean of the value it is coloured by.
    pub(crate) value: Option<f64>,
}

/// A row of tiles.
#[derive(Clone, Debug)]
pub(crate) struct GridRow {
    /// Its position on the axis.
    pub(crate) place: usize,
    /// Its range of values.
    pub(crate) label: String,
    /// The tiles from left to right.
    pub(crate) tiles: Vec<Option<Tile>>,
}

/// The tiles, highest row first.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// The ranges of the columns.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<GridRow>,
    /// The smallest and the largest value.
    pub(crate) range: Option<(f64, f64)>,
}

impl Grid {
    /// The tiles of `cells` at step `now`.
    pub(crate) fn of(cells: &[MapCell], axes: (Axis, Axis), colour: Colouring, now: i32) -> Self {
        let (x, y) = axes;
        let mut sums = vec![vec![(0_usize, 0.0, 0_usize); x.tiles]; y.tiles];
        for cell in cells {
            let Some((column, row)) = place(cell, axes) else { continue };
            let (count, sum, valued) = &mut sums[row][column];
            *count += 1;
            if let Some(value) = colour.of(cell, now) {
                *sum += value;
                *valued += 1;
            }
        }
        let tile = |(cells, sum, valued): &(usize, f64, usize)| {
            (*cells > 0).then(|| Tile { cells: *cells, value: (*valued > 0).then(|| sum / *valued as f64) })
        };
        let rows: Vec<GridRow> = sums
            .iter()
            .enumerate()
            .rev()
            .map(|(place, row)| GridRow { place, label: y.label(place), tiles: row.iter().map(tile).collect() })
            .collect();
        let values = rows.iter().flat_map(|row| row.tiles.iter().flatten()).filter_map(|tile| tile.value);
        Self {
            columns: (0..x.tiles).map(|place| x.label(place)).collect(),
            range: match colour {
                Colouring::SolveRate => Some((0.0, 1.0)),
                _ => range(values),
            },
            rows,
        }
    }

    pub(crate) fn class(&self, tile: &Tile) -> String {
        crate::frame::sides::heat(tile.value, self.range.unwrap_or((0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn cell(depth: f32, loc: f32, solve_rate: f32) -> MapCell {
        MapCell {
            cell: 0,
            problem_id: Uuid::nil(),
            problem_run_id: Uuid::nil(),
            problem_type: lyceum_core::verify::ProblemKind::CodeO,
            step: 3,
            objective: 0.5,
            solve_rate: Some(solve_rate),
            ast_depth: Some(depth),
            cyclomatic: None,
            loc: Some(loc),
            variables: Some(0.0),
        }
    }

    #[test]
    fn cells_fall_into_tiles_and_those_out_of_bounds_onto_the_edge() {
        let config = ArchiveConfig::default();
        let axes = (Axis::of(Dimension::AstDepth, &config), Axis::of(Dimension::Loc, &config));
        let cells = [cell(3.0, 1.0, 0.0), cell(3.0, 2.0, 1.0), cell(99.0, 49.0, 0.5)];
        let grid = Grid::of(&cells, axes, Colouring::SolveRate, 9);
        assert_eq!(grid.columns.len(), 23, "3 to 25");
        assert_eq!(grid.columns[0], "3");
        let bottom = grid.rows.last().unwrap();
        assert_eq!((bottom.place, bottom.label.as_str()), (0, "1–2"));
        let shared = Tile { cells: 2, value: Some(0.5) };
        assert_eq!(bottom.tiles[0], Some(shared));
        assert_eq!(place(&cells[2], axes), Some((22, 24)));
        let taken: usize = grid.rows.iter().flat_map(|row| row.tiles.iter().flatten()).map(|tile| tile.cells).sum();
        assert_eq!(taken, 3);
    }

    #[test]
    fn a_cell_without_a_descriptor_or_a_value_does_not_break_the_map() {
        let config = ArchiveConfig::default();
        let axes = (Axis::of(Dimension::AstDepth, &config), Axis::of(Dimension::Cyclomatic, &config));
        let grid = Grid::of(&[cell(3.0, 1.0, 0.5)], axes, Colouring::Complexity, 9);
        assert!(grid.rows.iter().all(|row| row.tiles.iter().all(Option::is_none)));
        assert_eq!(grid.range, None);
        let ages = Grid::of(&[cell(3.0, 1.0, 0.5)], (axes.0, axes.0), Colouring::Age, 9);
        assert_eq!(ages.range, Some((6.0, 6.0)));
    }
}
