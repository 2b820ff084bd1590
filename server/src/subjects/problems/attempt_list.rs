//! `/runs/{id}/attempts`: attempts by proposer, solver, type, steps and verdict.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_core::recipe::Side;
use lyceum_store::attempts::{self, Attempt, AttemptFilter};
use lyceum_store::{members, problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

use super::list::{Choice, types};
use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::names;
use crate::frame::steps::MEMBERS;
use crate::frame::text::{SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// Filters of attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttemptsFilter {
    teacher: Option<Uuid>,
    student: Option<Uuid>,
    problem: Option<Uuid>,
    #[serde(rename = "type")]
    problem_type: Option<String>,
    #[schemars(range(max = 2_147_483_647))]
    from: Option<u32>,
    #[schemars(range(max = 2_147_483_647))]
    to: Option<u32>,
    correct: Option<bool>,
    /// By members in a role of this side.
    side: Option<Side>,
    /// Whether those are included that evaluations had made.
    evaluations: Option<bool>,
    cursor: Option<String>,
    order: Option<Order>,
}

#[derive(Template, Serialize)]
#[template(path = "problems/attempts.html")]
struct AttemptsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    items: Vec<Attempt>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    asked: AttemptsFilter,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    /// The index within its step of each attempted problem.
    #[serde(skip)]
    places: HashMap<Uuid, i32>,
}

impl AttemptsPage {
    fn name_of(&self, id: &Uuid) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| crate::frame::format::id(id))
    }

    fn types(&self) -> Vec<Choice> {
        types(self.asked.problem_type.as_deref())
    }

    fn is_filtered(&self) -> bool {
        let asked = &self.asked;
        asked.teacher.or(asked.student).or(asked.problem).is_some()
            || asked.problem_type.is_some()
            || asked.from.or(asked.to).is_some()
            || asked.correct.is_some()
            || asked.side.is_some()
            || asked.evaluations.is_some()
    }

    /// The side asked for, as in the address.
    fn side(&self) -> Option<String> {
        let name = serde_json::to_value(self.asked.side?).ok()?;
        name.as_str().map(str::to_owned)
    }

    fn text_of(&self, attempt: &Attempt) -> crate::frame::text::Excerpt {
        excerpt(&attempt.text, SHOWN_IN_LIST)
    }
}

/// The index within its step of each attempted problem.
pub(crate) async fn places(
    db: &PgPool,
    run: ExecutionId,
    attempts: &[Attempt],
) -> Result<HashMap<Uuid, i32>, ApiError> {
    let mut ids: Vec<Uuid> = attempts.iter().map(|attempt| attempt.problem_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let problems = problems::by_ids(db, run, &ids).await?;
    Ok(problems.iter().map(|problem| (problem.id, problem.index)).collect())
}

/// Attempts of a run.
#[get("/runs/{id}/attempts")]
pub(crate) async fn show_attempts(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<AttemptsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = Listing::new("attempts", None, asked.cursor.as_deref(), asked.order)?;
    let run = RunFrame::load(&lab, *id, Tab::Attempts).await?;
    let filter = AttemptFilter {
        problem: asked.problem.map(ProblemId),
        member: asked.student.map(MemberId),
        proposer: asked.teacher.map(MemberId),
        problem_type: asked.problem_type.clone(),
        from: asked.from,
        to: asked.to,
        correct: asked.correct,
        side: asked.side,
        evaluations: asked.evaluations == Some(true),
    };
    let page = listing.page(attempts::page(lab.store.pool(), *id, &filter, listing.window()).await?);
    view.show(&AttemptsPage {
        layout: view.layout(format!("Attempts · {}", run.run().name), Section::Runs),
        names: names(members::names(lab.store.pool(), *id, MEMBERS).await?),
        places: places(lab.store.pool(), *id, &page.items).await?,
        items: page.items,
        pager: view.pager(page.next),
        asked,
        run,
    })
}
