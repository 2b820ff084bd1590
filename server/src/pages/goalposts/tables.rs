//! The maps as tables: a goalpost in each row, a checkpoint in each column.

use lyceum_core::goalpost_map::{Line, Solve};

use crate::{
    frame::sides::heat,
    subjects::goalposts::{GoalpostHistory, GoalpostMap},
};

/// Goalposts shown of an arm, at most; JSON and CSV have all.
const ROWS: usize = 100;
/// Columns that have a head of their own.
const HEADS: usize = 12;

/// The map of an arm.
pub(super) struct MapTable {
    pub(super) name: String,
    /// Labels above the checkpoints, each with the columns that it spans.
    pub(super) heads: Vec<(u32, usize)>,
    pub(super) rows: Vec<MapRow>,
    /// Goalposts that are left out.
    pub(super) more: usize,
    /// Whether there is a control.
    pub(super) has_control: bool,
}

/// A goalpost.
pub(super) struct MapRow {
    pub(super) row: u32,
    pub(super) task_id: Option<String>,
    /// When a checkpoint first solved it; none if only the control did.
    pub(super) first: Option<Solve>,
    /// When the largest share of attempts solved it.
    pub(super) best: Option<Solve>,
    /// Checkpoints that solved it.
    pub(super) times: usize,
    /// When the control first solved it.
    pub(super) control: Option<Solve>,
    pub(super) cells: Vec<MapCell>,
}

/// Consecutive checkpoints.
pub(super) struct MapCell {
    pub(super) span: usize,
    pub(super) class: String,
    /// The solve; none for checkpoints that did not solve it.
    pub(super) solve: Option<Solve>,
}

/// A table for each arm whose checkpoints attempted goalposts.
pub(super) fn tables(map: &GoalpostMap) -> Vec<MapTable> {
    let mut tables = Vec::new();
    for (place, arm) in map.arms.iter().enumerate() {
        let steps: Vec<u32> = arm.checkpoints.steps.iter().map(|at| at.step).collect();
        if steps.is_empty() {
            continue;
        }
        let mut rows: Vec<MapRow> = map
            .goalposts
            .iter()
            .filter_map(|goalpost| Some((goalpost, goalpost.arms.get(place)?)))
            .filter(|(_, history)| !history.solves.is_empty() || !history.control.is_empty())
            .map(|(goalpost, history)| row(goalpost.row, goalpost.task_id.clone(), history, &steps))
            .collect();
        rows.sort_by_key(|row| (row.first.map_or(u32::MAX, |first| first.step), row.row));
        let more = rows.len().saturating_sub(ROWS);
        rows.truncate(ROWS);
        tables.push(MapTable {
            name: arm.name.clone(),
            heads: heads(&steps),
            rows,
            more,
            has_control: arm.control.is_some(),
        });
    }
    tables
}

/// Labels of equal width: the first step of each.
fn heads(steps: &[u32]) -> Vec<(u32, usize)> {
    let width = steps.len().div_ceil(HEADS).max(1);
    steps.chunks(width).map(|chunk| (chunk[0], chunk.len())).collect()
}

fn row(row: u32, task_id: Option<String>, history: &GoalpostHistory, steps: &[u32]) -> MapRow {
    let line = Line {
        solves: history.solves.clone(),
    };
    MapRow {
        row,
        task_id,
        first: line.first(),
        best: line.best(),
        times: line.solves.len(),
        control: history.control.first().copied(),
        cells: cells(&line, steps),
    }
}

/// The checkpoints from the first to the last. Those that did not solve it are one cell as far as they follow each other.
fn cells(line: &Line, steps: &[u32]) -> Vec<MapCell> {
    let mut cells: Vec<MapCell> = Vec::new();
    for step in steps {
        let solve = line.at(*step);
        match (solve, cells.last_mut()) {
            (None, Some(last)) if last.solve.is_none() => last.span += 1,
            _ => cells.push(MapCell {
                span: 1,
                // A root, since one of a hundred must be told from none.
                class: heat(solve.map(|solve| share(solve).sqrt()), (0.0, 1.0)),
                solve,
            }),
        }
    }
    cells
}

fn share(solve: Solve) -> f64 {
    f64::from(solve.correct) / f64::from(solve.attempts.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_that_did_not_solve_it_share_a_cell() {
        let solve = |step, correct| Solve {
            step,
            correct,
            attempts: 100,
        };
        let line = Line {
            solves: vec![solve(2, 1), solve(6, 25)],
        };
        let shown: Vec<_> = cells(&line, &[0, 1, 2, 3, 4, 5, 6])
            .into_iter()
            .map(|cell| (cell.span, cell.class))
            .collect();
        let expected = [(2, "heat-none"), (1, "heat-1"), (3, "heat-none"), (1, "heat-5")];
        assert_eq!(shown, expected.map(|(span, class)| (span, class.to_owned())));
        let spans = |count: u32| heads(&(0..count).collect::<Vec<_>>());
        assert_eq!(spans(3), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(spans(200).iter().map(|(_, span)| span).sum::<usize>(), 200);
        assert_eq!(spans(200).len(), 12);
    }
}
