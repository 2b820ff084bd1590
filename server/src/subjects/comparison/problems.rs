//! `/compare/problems`: the proposals of two runs in the same step.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::page::{Order, Window};
use lyceum_store::problems::{self, ProblemFilter, ProblemSort};
use lyceum_store::runs::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::labels;
use crate::api_error::ApiError;
use crate::frame::layout::{Layout, Section};
use crate::frame::run::TwoRuns;
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;
use crate::subjects::problems::list::{Choice, types};

/// Maximum problems of each run.
const ROWS: u32 = 24;

/// The runs and the step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BesideFilter {
    left: Option<Uuid>,
    right: Option<Uuid>,
    /// The step; by default the last one finished by both runs.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    #[serde(rename = "type")]
    problem_type: Option<String>,
    /// `true` (the default) omits invalid problems.
    valid: Option<bool>,
}

#[derive(Serialize)]
struct Side {
    run: Run,
    problems: Vec<problems::Problem>,
    /// Whether the step has more problems.
    more: bool,
}

impl Side {
    /// The address of the whole list.
    fn all(&self, step: &u32) -> String {
        format!("/runs/{}/problems?step={step}&sort=oldest", self.run.id)
    }

    fn program(&self, problem: &problems::Problem) -> Option<Excerpt> {
        Some(excerpt(problem.program.as_deref()?, SHOWN_IN_LIST))
    }
}

#[derive(Template, Serialize)]
#[template(path = "comparison/problems.html")]
struct BesidePage {
    #[serde(skip)]
    layout: Layout,
    step: u32,
    sides: Vec<Side>,
    #[serde(skip)]
    runs: Vec<Run>,
    /// The label of each of `runs`.
    #[serde(skip)]
    labels: Vec<String>,
    #[serde(skip)]
    asked: BesideFilter,
}

impl BesidePage {
    fn is_left(&self, id: &Uuid) -> bool {
        self.asked.left == Some(*id)
    }

    fn types(&self) -> Vec<Choice> {
        types(self.asked.problem_type.as_deref())
    }

    fn is_right(&self, id: &Uuid) -> bool {
        self.asked.right == Some(*id)
    }
}

/// Two runs' problems of the same step.
#[get("/compare/problems")]
pub(crate) async fn show_problems_beside(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<BesideFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let runs = TwoRuns::read(&view, db, asked.left, asked.right).await?;
    let step = asked.step.unwrap_or(runs.last_step());
    let filter = ProblemFilter {
        step: Some(step),
        problem_type: asked.problem_type.clone(),
        valid: (asked.valid != Some(false)).then_some(true),
        ..ProblemFilter::default()
    };
    let window = Window { limit: ROWS, after: None, order: Order::Oldest };
    let mut sides = Vec::new();
    for run in runs.shown {
        let page = problems::page(db, ExecutionId(run.id), &filter, ProblemSort::Age, &window).await?;
        let more = page.next.is_some();
        sides.push(Side { problems: page.items, more, run });
    }
    view.show(&BesidePage {
        layout: view.layout("Problems side by side", Section::Compare),
        step,
        sides,
        labels: labels(runs.choices.iter()),
        runs: runs.choices,
        asked,
    })
}
