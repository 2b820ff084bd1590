//! Problems of a run and the attempts at them.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_store::{
    attempts::{self, Attempt, AttemptFilter},
    page::{self, Window},
    problems::{self, ProblemFilter, ProblemParent, ProblemSort},
    runs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{Answer, Listing, Order, Page, Query, bounds},
    lab::Lab,
};

/// The order of a list of problems, other than by age.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Difficulty {
    /// Least solved first.
    Hardest,
    /// Most solved first.
    Easiest,
}

/// Filters of problems.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListProblemsQuery {
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
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListProblemsQuery);

/// Filters of attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAttemptsQuery {
    /// At this problem.
    problem: Option<Uuid>,
    /// By this member.
    member: Option<Uuid>,
    /// `true` for correct attempts, `false` for the others.
    correct: Option<bool>,
    /// `true` adds those that evaluations had made, which have an `evaluation_id`.
    evaluations: Option<bool>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListAttemptsQuery);

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

/// List the problems of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListProblemsQuery),
    responses((status = 200, description = "A page of problems", body = Page<problems::Problem>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/problems")]
pub(crate) async fn list_problems(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ListProblemsQuery>,
) -> Result<Answer<Page<problems::Problem>>, ApiError> {
    let query = query.0;
    let (name, sort) = match query.sort {
        None => ("problems", ProblemSort::Age),
        Some(Difficulty::Hardest) => ("problems.hardest", ProblemSort::Hardest),
        Some(Difficulty::Easiest) => ("problems.easiest", ProblemSort::Easiest),
    };
    if query.sort.is_some() && query.order.is_some() {
        let detail = "`sort` determines the order; send only one of the two";
        return Err(ApiError::invalid_query(vec![("order".to_owned(), detail.to_owned())]));
    }
    let listing = Listing::new(name, query.limit, query.cursor.as_deref(), query.order)?;
    let filter = ProblemFilter {
        step: query.step,
        problem_type: query.problem_type,
        valid: query.valid,
        status: query.status,
        proposer: query.proposer.map(MemberId),
        cell: query.cell,
        solve_rate_min: query.solve_rate_min,
        solve_rate_max: query.solve_rate_max,
        text: query.q,
        full: query.full == Some(true),
        ..ProblemFilter::default()
    };
    runs::find(lab.store.pool(), *id).await?;
    let page = problems::page(lab.store.pool(), *id, &filter, sort, listing.window()).await?;
    Ok(listing.answer(&request, page))
}

/// Show a problem of a run with its attempts.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("problem" = Uuid, Path, description = "The problem")),
    responses((status = 200, description = "The problem", body = ProblemDetail)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/problems/{problem}")]
pub(crate) async fn show_problem(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, ProblemId)>,
) -> Result<Answer<ProblemDetail>, ApiError> {
    let (run, id) = place.into_inner();
    let db = lab.store.pool();
    let problem = problems::find(db, run, id).await?;
    let filter = AttemptFilter {
        problem: Some(id),
        ..AttemptFilter::default()
    };
    let first = Window {
        limit: 100,
        after: None,
        order: page::Order::Oldest,
    };
    Ok(Answer::ok(ProblemDetail {
        problem,
        relations: problems::parents(db, id).await?,
        attempts: attempts::page(db, run, &filter, &first).await?.items,
    }))
}

/// List the attempts of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListAttemptsQuery),
    responses((status = 200, description = "A page of attempts", body = Page<Attempt>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/attempts")]
pub(crate) async fn list_attempts(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<ListAttemptsQuery>,
) -> Result<Answer<Page<Attempt>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("attempts", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = AttemptFilter {
        problem: query.problem.map(ProblemId),
        member: query.member.map(MemberId),
        correct: query.correct,
        evaluations: query.evaluations == Some(true),
        ..AttemptFilter::default()
    };
    runs::find(lab.store.pool(), *id).await?;
    Ok(listing.answer(
        &request,
        attempts::page(lab.store.pool(), *id, &filter, listing.window()).await?,
    ))
}
