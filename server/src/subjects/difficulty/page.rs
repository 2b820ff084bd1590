//! `/runs/{id}/difficulty`: the rows of a run's dataset by how often they are solved, over time and one by one.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::dataset_rows::{self, DifficultyWindow, LatestAnswers, RowFilter, RowProgress, RowSort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::levels::{Known, Levels};
use crate::api_error::ApiError;
use crate::contract::{Filter as _, Listing};
use crate::frame::figure::{Colour, Figure, Series, Style};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::steps::Steps;
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;
use crate::subjects::problems::list::Choice;

/// Maximum number of bars of the chart.
const BARS: u32 = 120;
/// Maximum number of columns of the table of levels.
const COLUMNS: u32 = 24;

/// The steps of the chart, and filters of the rows.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct DifficultyFilter {
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
    #[serde(flatten)]
    rows: RowFilter,
    cursor: Option<String>,
}

impl DifficultyFilter {
    fn is_set(&self) -> bool {
        let rows = &self.rows;
        rows.solved.is_some() || rows.latest.is_some() || rows.first_solved_from.or(rows.first_solved_to).is_some()
    }
}

#[derive(Template, Serialize)]
#[template(path = "run/difficulty.html")]
struct DifficultyPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The steps shown.
    steps: Steps,
    /// Steps per bar.
    width: u32,
    /// Rows that are learned from, if the recipe says so.
    rows: Option<u32>,
    /// The rows at the end of each bar's steps.
    windows: Vec<DifficultyWindow>,
    /// Answers by level; none where rows have none.
    levels: Option<Levels>,
    /// The state of the sampler after the last of the steps shown, by member.
    sampler: Vec<Known>,
    items: Vec<RowProgress>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    asked: DifficultyFilter,
    #[serde(skip)]
    figures: Vec<Figure>,
}

impl DifficultyPage {
    fn now(&self) -> Option<&DifficultyWindow> {
        self.windows.last()
    }

    /// Rows that had not been asked by the last of the steps shown.
    fn unasked(&self) -> Option<i64> {
        Some((i64::from(self.rows?) - self.now()?.asked()).max(0))
    }

    fn latest(&self) -> Vec<Choice> {
        let all = [
            ("never", LatestAnswers::Never),
            ("sometimes", LatestAnswers::Sometimes),
            ("always", LatestAnswers::Always),
        ];
        choices(all, self.asked.rows.latest)
    }

    fn solved(&self) -> Vec<Choice> {
        choices([("true", true), ("false", false)], self.asked.rows.solved)
            .into_iter()
            .zip(["solved", "never solved"])
            .map(|(choice, label)| Choice { label: label.to_owned(), ..choice })
            .collect()
    }

    fn sorts(&self) -> Vec<Choice> {
        let all = [
            ("row", "by row", RowSort::Row),
            ("first_solved", "first solved first", RowSort::FirstSolved),
            ("last_solved", "last solved first", RowSort::LastSolved),
            ("hardest", "least solved first", RowSort::Hardest),
            ("easiest", "most solved first", RowSort::Easiest),
        ];
        let chosen = self.asked.rows.sort.unwrap_or_default();
        all.map(|(value, label, sort)| Choice {
            value: value.to_owned(),
            label: label.to_owned(),
            chosen: sort == chosen,
        })
        .into()
    }
}

/// Choices that are named like their values.
fn choices<T: PartialEq, const N: usize>(all: [(&str, T); N], chosen: Option<T>) -> Vec<Choice> {
    let choice = |(value, of): (&str, T)| Choice {
        value: value.to_owned(),
        label: value.to_owned(),
        chosen: chosen.as_ref() == Some(&of),
    };
    all.into_iter().map(choice).collect()
}

/// The difficulty of the rows of a run's dataset.
#[get("/runs/{id}/difficulty")]
pub(crate) async fn show_difficulty(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<DifficultyFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let listing = Listing::new(&asked.rows.list("rows"), None, asked.cursor.as_deref(), None)?;
    let run = RunFrame::load(&lab, *id, Tab::Difficulty).await?;
    let steps = Steps { from: asked.from, to: asked.to };
    let stretch = steps.of_run(run.run().step, BARS)?;
    let rows = super::asked(&lab, &run.detail);
    let end = steps.to.map_or(u32::MAX, |to| to.saturating_add(1)).min(run.run().step.cast_unsigned());
    let (windows, page, levels, sampler) = futures::try_join!(
        dataset_rows::difficulty(db, *id, stretch),
        dataset_rows::page(db, *id, &asked.rows, listing.window()),
        Levels::load(&lab.store, *id, rows.as_ref(), steps.of_run(run.run().step, COLUMNS)?),
        Known::load(&lab.store, *id, end),
    )?;
    let page = listing.page(page);
    let rows = rows.map(|rows| rows.learned);
    view.show(&DifficultyPage {
        layout: view.layout(format!("Difficulty · {}", run.run().name), Section::Runs),
        figures: view.news(vec![chart(&windows, rows)], stretch.width),
        items: page.items,
        pager: view.pager(page.next),
        width: stretch.width,
        steps,
        rows,
        windows,
        levels,
        sampler,
        asked,
        run,
    })
}

/// Rows by how they were answered when they were last asked.
fn chart(windows: &[DifficultyWindow], rows: Option<u32>) -> Figure {
    type Count = fn(&DifficultyWindow) -> i64;
    let parts: [(&str, Colour, f64, Count); 3] = [
        ("never solved", Colour::Muted, 0.75, |window| window.never),
        ("sometimes solved", Colour::Good, 0.9, |window| window.sometimes),
        ("always solved", Colour::Muted, 0.35, |window| window.always),
    ];
    let series = |name: &str, colour, strength, count: &dyn Fn(&DifficultyWindow) -> i64| Series {
        name: name.to_owned(),
        style: Style::Stacked,
        colour,
        strength: Some(strength),
        points: windows.iter().map(|window| (f64::from(window.step), Some(count(window) as f64))).collect(),
        ..Series::default()
    };
    let mut all: Vec<Series> =
        parts.iter().map(|(name, colour, strength, count)| series(name, *colour, *strength, count)).collect();
    if let Some(rows) = rows {
        let rows = i64::from(rows);
        all.push(series("not asked yet", Colour::Muted, 0.12, &|window| (rows - window.asked()).max(0)));
    }
    Figure {
        id: "difficulty".to_owned(),
        title: "Rows by their latest answers".to_owned(),
        note: "Each row counts by the answers of the step in which it was last asked. Only rows that are solved sometimes \
               have something to teach under a group baseline."
            .to_owned(),
        x: "step".to_owned(),
        y: "rows".to_owned(),
        range: rows.map(|rows| [0.0, f64::from(rows)]),
        series: if windows.is_empty() { Vec::new() } else { all },
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_are_in_every_bar() {
        let window = |step, never, sometimes, always| DifficultyWindow { step, never, sometimes, always };
        let windows = [window(0, 3, 2, 1), window(4, 1, 4, 5)];
        let figure = chart(&windows, Some(10));
        for (place, unasked) in [(0, 4.0), (1, 0.0)] {
            let counts: Vec<f64> = figure.series.iter().filter_map(|series| series.points[place].1).collect();
            assert_eq!(counts.iter().sum::<f64>(), 10.0);
            assert_eq!(counts.last(), Some(&unasked));
        }
        assert_eq!(chart(&windows, None).series.len(), 3);
        assert!(chart(&[], Some(10)).is_empty());
    }
}
