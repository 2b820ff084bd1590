//! `/compare/picks`: a problem of median complexity of each of two runs, at the same steps (PopuLoRA, Figure 8).

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::pick::{MOST_LINES, pick};
use lyceum_store::problems::{self, Problem};
use lyceum_store::runs::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use uuid::Uuid;

use super::labels;
use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::run::TwoRuns;
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Maximum steps of the figure.
const STEPS: usize = 12;

/// The runs and the steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PicksFilter {
    left: Option<Uuid>,
    right: Option<Uuid>,
    /// Steps, separated by commas; by default an early one, the middle and the last one finished by both runs.
    #[schemars(length(max = 200))]
    steps: Option<String>,
}

/// The picks of a run in a step.
#[derive(Serialize)]
struct Picked {
    /// The problem of median complexity.
    median: Option<Problem>,
    /// The least complex one; shown in the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    simplest: Option<Problem>,
    /// Valid problems with a program of at most 30 lines.
    candidates: usize,
}

impl Picked {
    async fn of(db: &PgPool, run: ExecutionId, step: u32, with_simplest: bool) -> Result<Self, ApiError> {
        let measured = problems::complexities(db, run, step).await?;
        let descriptors: Vec<_> = measured.iter().map(|(_, descriptor)| *descriptor).collect();
        let Some(picks) = pick(&descriptors) else { return Ok(Self { median: None, simplest: None, candidates: 0 }) };
        let problem = async |place: usize| problems::find(db, run, ProblemId(measured[place].0)).await;
        Ok(Self {
            median: Some(problem(picks.median).await?),
            simplest: if with_simplest { Some(problem(picks.simplest).await?) } else { None },
            candidates: picks.candidates,
        })
    }

    /// The picks with their captions.
    fn shown(&self) -> Vec<(&'static str, &Problem)> {
        let median = self.median.iter().map(|problem| ("median complexity", problem));
        median.chain(self.simplest.iter().map(|problem| ("simplest", problem))).collect()
    }
}

/// A row of the figure.
#[derive(Serialize)]
struct Row {
    step: u32,
    /// The picks of the left and of the right run.
    sides: Vec<Picked>,
}

#[derive(Template, Serialize)]
#[template(path = "problems/picks.html")]
struct PicksPage {
    #[serde(skip)]
    layout: Layout,
    /// The left and the right run.
    runs: Vec<Run>,
    rows: Vec<Row>,
    /// Programs with more lines are not picked.
    most_lines: f32,
    #[serde(skip)]
    steps: String,
    #[serde(skip)]
    choices: Vec<Run>,
    /// The label of each of `choices`.
    #[serde(skip)]
    labels: Vec<String>,
    #[serde(skip)]
    asked: PicksFilter,
}

impl PicksPage {
    fn is_left(&self, id: &Uuid) -> bool {
        self.asked.left == Some(*id)
    }

    fn is_right(&self, id: &Uuid) -> bool {
        self.asked.right == Some(*id)
    }

    fn program(&self, problem: &Problem) -> Option<Excerpt> {
        Some(excerpt(problem.program.as_deref()?, SHOWN_IN_LIST))
    }

    /// The caption of the paper's figure.
    fn measures(&self, problem: &Problem) -> String {
        let whole = |value: Option<f32>| value.map_or_else(|| "–".to_owned(), |value| format!("{value}"));
        format!(
            "AST depth {} · cyclomatic {} · {} LOC",
            whole(problem.ast_depth),
            whole(problem.cyclomatic),
            whole(problem.loc)
        )
    }
}

/// Two runs' picks of the same steps.
#[get("/compare/picks")]
pub(crate) async fn show_picks(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<PicksFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let runs = TwoRuns::read(&view, db, asked.left, asked.right).await?;
    let steps = match asked.steps.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => named(text)?,
        None => usual(runs.last_step()),
    };
    let mut rows = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let mut sides = Vec::new();
        for run in &runs.shown {
            let is_last = place + 1 == steps.len();
            sides.push(Picked::of(db, ExecutionId(run.id), *step, is_last).await?);
        }
        rows.push(Row { step: *step, sides });
    }
    let words: Vec<String> = steps.iter().map(ToString::to_string).collect();
    view.show(&PicksPage {
        layout: view.layout("Picks of median complexity", Section::Compare),
        rows,
        most_lines: MOST_LINES,
        steps: words.join(","),
        labels: labels(runs.choices.iter()),
        choices: runs.choices,
        runs: runs.shown,
        asked,
    })
}

/// A twentieth, a half and all of the steps up to `last`: those of the paper's figure, if it is 100.
fn usual(last: u32) -> Vec<u32> {
    let mut steps = vec![last / 20, last / 2, last];
    steps.dedup();
    steps
}

fn named(text: &str) -> Result<Vec<u32>, ApiError> {
    let wrong = |detail: String| ApiError::invalid_query(vec![("steps".to_owned(), detail)]);
    let mut steps = Vec::new();
    for step in text.split(',').map(str::trim) {
        let number = step.parse::<u32>().ok().filter(|step| i32::try_from(*step).is_ok());
        steps.push(number.ok_or_else(|| wrong(format!("`{step}` is not a step: give numbers separated by commas")))?);
    }
    steps.sort_unstable();
    steps.dedup();
    match steps.len() {
        0..=STEPS => Ok(steps),
        many => Err(wrong(format!("{many} steps are too many for one page: at most {STEPS} can be shown"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_paper_or_those_named() {
        assert_eq!(usual(100), [5, 50, 100]);
        assert_eq!(usual(0), [0]);
        assert_eq!(named("7, 3,7").unwrap(), [3, 7]);
        assert!(named("3,x").is_err() && named("4000000000").is_err());
        assert!(named(&(0..13).map(|step| step.to_string()).collect::<Vec<_>>().join(",")).is_err());
    }
}
