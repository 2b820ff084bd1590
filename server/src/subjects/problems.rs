//! Problems of a run and the attempts at them.

pub(crate) mod attempt_list;
pub(super) mod biography;
pub(super) mod candidates;
pub(super) mod learnability;
pub(crate) mod list;

use actix_web::web;
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_store::attempts::{self, Attempt, AttemptFilter};
use lyceum_store::page::{self, Window};
use lyceum_store::problems::{self, ProblemFilter, ProblemParent, ProblemSort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Filter, Order, list_of_run};
use crate::lab::Lab;

/// The order of a list of problems, other than by age.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Difficulty {
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

/// Selects problems.
#[derive(Debug, Deserialize, JsonSchema)]
struct Problems {
    /// Of this step.
    #[schemars(range(max = i32::MAX))]
    step: Option<u32>,
    /// Of this type, such as `code_o`.
    #[serde(rename = "type")]
    problem_type: Option<String>,
    /// `true` for valid problems, `false` for the others.
    valid: Option<bool>,
    /// With this status of the verifier, such as `timeout`.
    status: Option<String>,
    /// By this proposer.
    proposer: Option<Uuid>,
    /// In this cell of the archive.
    #[schemars(range(max = i32::MAX))]
    cell: Option<u32>,
    /// Solved by at least this share of attempts.
    #[schemars(range(min = 0.0, max = 1.0))]
    solve_rate_min: Option<f32>,
    /// Solved by at most this share of attempts.
    #[schemars(range(min = 0.0, max = 1.0))]
    solve_rate_max: Option<f32>,
    /// With these words in the program or the reason.
    #[schemars(length(min = 1, max = 1000))]
    q: Option<String>,
    /// `true` adds prompt, proposal, values and reward components to every row.
    full: Option<bool>,
    /// Attempted problems only, `hardest` or `easiest` first, instead of by age.
    sort: Option<Difficulty>,
}

/// Selects attempts.
#[derive(Debug, Deserialize, JsonSchema)]
struct Attempts {
    /// At this problem.
    problem: Option<Uuid>,
    /// By this member.
    member: Option<Uuid>,
    /// `true` for correct attempts, `false` for the others.
    correct: Option<bool>,
    /// `true` adds those that evaluations had made, which have an `evaluation_id`.
    evaluations: Option<bool>,
}

/// A problem in full.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProblemDetail {
    /// The problem.
    #[serde(flatten)]
    problem: problems::Problem,
    /// The problems that inspired it, and those it inspired.
    relations: Vec<ProblemParent>,
    /// The first hundred attempts; `GET /runs/{id}/attempts?problem=` has all.
    #[serde(rename = "first_attempts")]
    attempts: Vec<Attempt>,
}

impl Filter for Problems {
    fn check(&self, order: Option<Order>) -> Result<(), ApiError> {
        match self.sort.is_some() && order.is_some() {
            true => {
                let detail = "`sort` determines the order; send only one of the two";
                Err(ApiError::invalid_query(vec![("order".to_owned(), detail.to_owned())]))
            }
            false => Ok(()),
        }
    }

    fn sort(&self) -> Option<&'static str> {
        self.sort.map(|sort| match sort {
            Difficulty::Hardest => "hardest",
            Difficulty::Easiest => "easiest",
        })
    }
}

impl Filter for Attempts {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let page = async |db: &PgPool, run: ExecutionId, asked: &Problems, window: &Window| {
        let sort = match asked.sort {
            None => ProblemSort::Age,
            Some(Difficulty::Hardest) => ProblemSort::Hardest,
            Some(Difficulty::Easiest) => ProblemSort::Easiest,
        };
        let filter = ProblemFilter {
            step: asked.step,
            problem_type: asked.problem_type.clone(),
            valid: asked.valid,
            status: asked.status.clone(),
            proposer: asked.proposer.map(MemberId),
            cell: asked.cell,
            solve_rate_min: asked.solve_rate_min,
            solve_rate_max: asked.solve_rate_max,
            text: asked.q.clone(),
            full: asked.full == Some(true),
            ..ProblemFilter::default()
        };
        problems::page(db, run, &filter, sort, window).await
    };
    let all =
        About::new("list_problems", "/runs/{id}/problems").says("List the problems of a run.", "A page of problems");
    let all = list_of_run(all, page);
    let one = About::new("show_problem", "/runs/{id}/problems/{problem}")
        .says("Show a problem of a run with its attempts.", "The problem");
    let one = Endpoint::get(one, "runs", show_problem).id("id", "The run");
    let one = one.id("problem", "The problem").answers::<ProblemDetail>();
    let attempts = async |db: &PgPool, run: ExecutionId, asked: &Attempts, window: &Window| {
        let filter = AttemptFilter {
            problem: asked.problem.map(ProblemId),
            member: asked.member.map(MemberId),
            correct: asked.correct,
            evaluations: asked.evaluations == Some(true),
            ..AttemptFilter::default()
        };
        attempts::page(db, run, &filter, window).await
    };
    let tries =
        About::new("list_attempts", "/runs/{id}/attempts").says("List the attempts of a run.", "A page of attempts");
    let tries = list_of_run(tries, attempts);
    vec![all, one, tries]
}

async fn show_problem(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, ProblemId)>,
) -> Result<Answer<ProblemDetail>, ApiError> {
    let (run, id) = place.into_inner();
    let db = lab.store.pool();
    let problem = problems::find(db, run, id).await?;
    let filter = AttemptFilter { problem: Some(id), ..AttemptFilter::default() };
    let first = Window { limit: 100, after: None, order: page::Order::Oldest };
    Ok(Answer::ok(ProblemDetail {
        problem,
        relations: problems::parents(db, id).await?,
        attempts: attempts::page(db, run, &filter, &first).await?.items,
    }))
}
