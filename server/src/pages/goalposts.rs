//! `/runs/{id}/goalposts` and `/compare/goalposts`: which hard problems checkpoints solved when, by run and across arms.

mod tables;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::tables::{MapTable, tables};
use crate::{
    api::run_ids,
    api_error::ApiError,
    frame::{
        figure::{Colour, Figure, Series, Style},
        layout::{Layout, Section, Tab},
        run::RunFrame,
        view::{Filters, View},
    },
    lab::Lab,
    subjects::goalposts::{self, GoalpostMap, GoalpostSide},
};

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
        Self {
            tables: tables(&map),
            figures: figures(&map),
            map,
            address,
        }
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
#[template(path = "run/goalposts.html")]
struct RunGoalpostsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    #[serde(flatten)]
    view: MapView,
}

#[derive(Template, Serialize)]
#[template(path = "goalposts.html")]
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
        Some(runs) => run_ids(runs)?,
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
        colour: if style == Style::Dashed {
            Colour::Muted
        } else {
            Colour::Next
        },
        place: (style != Style::Dashed).then_some(place),
        points: side
            .steps
            .iter()
            .map(|at| (f64::from(at.step), Some(f64::from(at.solved_so_far))))
            .collect(),
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
    match figure.series.is_empty() {
        true => Vec::new(),
        false => vec![figure],
    }
}
