//! `/runs/{id}/goalposts` and `/compare/goalposts`: which hard problems checkpoints solved when, by run and across arms.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::goalpost_map::{Line, Solve};
use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::heat;
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::goalposts::endpoints::ids;
use crate::subjects::goalposts::{self, GoalpostHistory, GoalpostMap, GoalpostSide};

/// The dataset of goalposts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunGoalpostsFilter {
    dataset: Option<Uuid>,
}

/// The runs and the dataset of goalposts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoalpostsFilter {
    runs: Option<String>,
    dataset: Option<Uuid>,
}

/// What both pages show.
#[derive(Serialize)]
struct MapView {
    #[serde(flatten)]
    map: GoalpostMap,
    #[serde(skip)]
    tables: Vec<MapTable>,
    #[serde(skip)]
    figures: Vec<Figure>,
    /// The address of the map over REST, without its format.
    #[serde(skip)]
    address: String,
}

impl MapView {
    fn of(map: GoalpostMap, mut address: String) -> Self {
        if let Some(dataset) = &map.dataset {
            let sign = if address.contains('?') { '&' } else { '?' };
            address.push_str(&format!("{sign}dataset={}", dataset.id));
        }
        Self { tables: tables(&map), figures: figures(&map), map, address }
    }

    /// Whether the base of an arm had other attempts than its checkpoints.
    fn is_unmatched(&self) -> bool {
        is_unmatched(&self.map)
    }

    /// The map as CSV.
    fn csv(&self) -> String {
        let sign = if self.address.contains('?') { '&' } else { '?' };
        format!("{}{sign}format=csv", self.address)
    }

    /// What a side solved in each seed, as in the paper's table 4: `6 / 3 / 3`.
    fn seeds<'s>(&self, sides: impl Iterator<Item = Option<&'s GoalpostSide>>) -> String {
        let solved = sides.map(|side| side.map_or_else(|| "–".to_owned(), |side| side.solved.to_string()));
        solved.collect::<Vec<_>>().join(" / ")
    }

    /// What the checkpoints of an arm solved, by seed.
    fn solved(&self, arm: &usize) -> String {
        let runs = self.map.arms.get(*arm).map_or(&[][..], |arm| &arm.runs);
        self.seeds(runs.iter().map(|run| Some(&run.checkpoints)))
    }

    /// What the control of an arm solved, by seed.
    fn controlled(&self, arm: &usize) -> String {
        let runs = self.map.arms.get(*arm).map_or(&[][..], |arm| &arm.runs);
        self.seeds(runs.iter().map(|run| run.control.as_ref()))
    }
}

#[derive(Template, Serialize)]
#[template(path = "goalposts/of_run.html")]
struct RunGoalpostsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    #[serde(flatten)]
    view: MapView,
}

#[derive(Template, Serialize)]
#[template(path = "goalposts/compared.html")]
struct GoalpostsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(flatten)]
    view: MapView,
    /// The ids as the address has them.
    #[serde(skip)]
    runs: String,
}

/// Which goalposts a run's checkpoints solved when.
#[get("/runs/{id}/goalposts")]
pub(crate) async fn show_run_goalposts(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<RunGoalpostsFilter>,
) -> Result<HttpResponse, ApiError> {
    let id = *id;
    let run = RunFrame::load(&lab, id, Tab::Goalposts).await?;
    let map = goalposts::map(lab.store.pool(), &[id.0], filters.0.dataset).await?;
    view.show(&RunGoalpostsPage {
        layout: view.layout(format!("Goalposts · {}", run.run().name), Section::Runs),
        view: MapView::of(map, format!("/api/v1/runs/{id}/goalposts")),
        run,
    })
}

/// Which goalposts the checkpoints of several runs solved when, by arm.
#[get("/compare/goalposts")]
pub(crate) async fn show_goalposts(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<GoalpostsFilter>,
) -> Result<HttpResponse, ApiError> {
    let GoalpostsFilter { runs, dataset } = filters.0;
    let ids = match runs.as_deref() {
        None | Some("") => Vec::new(),
        Some(runs) => ids(runs)?,
    };
    let map = goalposts::map(lab.store.pool(), &ids, dataset).await?;
    let runs = ids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(",");
    view.show(&GoalpostsPage {
        layout: view.layout("Goalposts", Section::Compare),
        view: MapView::of(map, format!("/api/v1/goalposts?runs={runs}")),
        runs,
    })
}

fn is_unmatched(map: &GoalpostMap) -> bool {
    map.arms.iter().any(|arm| arm.is_matched() == Some(false))
}

/// How many goalposts were solved so far, a line for each arm and one for its control.
fn figures(map: &GoalpostMap) -> Vec<Figure> {
    let line = |name: String, side: &GoalpostSide, style: Style, place: usize| Series {
        name,
        style,
        colour: if style == Style::Dashed { Colour::Muted } else { Colour::Next },
        place: (style != Style::Dashed).then_some(place),
        points: side.steps.iter().map(|at| (f64::from(at.step), Some(f64::from(at.solved_so_far)))).collect(),
        ..Series::default()
    };
    let mut series = Vec::new();
    for (place, arm) in map.arms.iter().enumerate() {
        if arm.checkpoints.steps.is_empty() {
            continue;
        }
        series.push(line(arm.name.clone(), &arm.checkpoints, Style::Bold, place));
        if let Some(control) = &arm.control {
            let name = match arm.is_matched() {
                Some(true) => format!("base, as many attempts as {}", arm.name),
                _ => format!("base, attempts unequal to those of {}", arm.name),
            };
            series.push(line(name, control, Style::Dashed, place));
        }
    }
    let figure = Figure {
        id: "solved-so-far".to_owned(),
        title: "Goalposts solved so far".to_owned(),
        note: format!(
            "Counted once any attempt of any seed has solved it. The dashed lines are the untrained base, {}.",
            match is_unmatched(map) {
                false => "with as many fresh attempts: what is no higher than these, or by a few only, may be chance",
                true =>
                    "with fresh attempts: where these are unequal to the checkpoints', the two lines cannot be compared",
            }
        ),
        x: "step".to_owned(),
        y: "goalposts".to_owned(),
        exact: true,
        series,
        ..Figure::default()
    };
    if figure.series.is_empty() { Vec::new() } else { vec![figure] }
}

/// Goalposts shown of an arm, at most; JSON and CSV have all.
const ROWS: usize = 100;
/// Columns that have a head of their own.
const HEADS: usize = 12;

/// The map of an arm.
pub(crate) struct MapTable {
    pub(crate) name: String,
    /// Labels above the checkpoints, each with the columns that it spans.
    pub(crate) heads: Vec<(u32, usize)>,
    pub(crate) rows: Vec<MapRow>,
    /// Goalposts that are left out.
    pub(crate) more: usize,
    /// Whether there is a control.
    pub(crate) has_control: bool,
}

/// A goalpost.
pub(crate) struct MapRow {
    pub(crate) row: u32,
    pub(crate) task_id: Option<String>,
    /// When a checkpoint first solved it; none if only the control did.
    pub(crate) first: Option<Solve>,
    /// When the largest share of attempts solved it.
    pub(crate) best: Option<Solve>,
    /// Checkpoints that solved it.
    pub(crate) times: usize,
    /// When the control first solved it.
    pub(crate) control: Option<Solve>,
    pub(crate) cells: Vec<MapCell>,
}

/// Consecutive checkpoints.
pub(crate) struct MapCell {
    pub(crate) span: usize,
    pub(crate) class: String,
    /// The solve; none for checkpoints that did not solve it.
    pub(crate) solve: Option<Solve>,
}

/// A table for each arm whose checkpoints attempted goalposts.
pub(crate) fn tables(map: &GoalpostMap) -> Vec<MapTable> {
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
    let line = Line { solves: history.solves.clone() };
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
        let solve = |step, correct| Solve { step, correct, attempts: 100 };
        let line = Line { solves: vec![solve(2, 1), solve(6, 25)] };
        let shown: Vec<_> =
            cells(&line, &[0, 1, 2, 3, 4, 5, 6]).into_iter().map(|cell| (cell.span, cell.class)).collect();
        let expected = [(2, "heat-none"), (1, "heat-1"), (3, "heat-none"), (1, "heat-5")];
        assert_eq!(shown, expected.map(|(span, class)| (span, class.to_owned())));
        let spans = |count: u32| heads(&(0..count).collect::<Vec<_>>());
        assert_eq!(spans(3), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(spans(200).iter().map(|(_, span)| span).sum::<usize>(), 200);
        assert_eq!(spans(200).len(), 12);
    }
}
