//! `/problems` and `/runs/{id}/problems`: problems, filtered by words and properties.

mod form;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_core::problem::Values;
use lyceum_core::recipe::Side;
use lyceum_store::members;
use lyceum_store::problems::{self, FoundProblem};
use serde::{Deserialize as _, Serialize};
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

pub(crate) use self::form::{Choice, types};
use self::form::{Form, ProblemsFilter, Sort};
use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::format::counted;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::sides::{Link, SideNames, names, plays};
use crate::frame::steps::MEMBERS;
use crate::frame::text::{Excerpt, SHOWN_IN_LIST, excerpt};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// A row of both pages.
pub(crate) struct Shown<'a> {
    pub(crate) problem: &'a problems::Problem,
    pub(crate) run_id: Uuid,
    pub(crate) run: Option<&'a str>,
    pub(crate) proposer: Option<String>,
    question: Option<&'a String>,
}

impl Shown<'_> {
    pub(crate) fn program(&self) -> Option<Excerpt> {
        let program = self.problem.program.as_deref()?;
        Some(excerpt(program, SHOWN_IN_LIST))
    }

    /// The question of a problem that is not about a program.
    pub(crate) fn question(&self) -> Option<Excerpt> {
        Some(excerpt(self.question?, SHOWN_IN_LIST))
    }

    pub(crate) fn reason(&self) -> Excerpt {
        excerpt(&self.problem.reason, SHOWN_IN_LIST)
    }

    /// Its solve rate and complexity, in a line.
    pub(crate) fn facts(&self) -> String {
        let problem = self.problem;
        let mut facts = vec![match problem.solve_rate {
            Some(rate) => {
                format!("{:.0} % of {} solved it", rate * 100.0, counted(&i64::from(problem.attempts), "attempt"))
            }
            None => "not attempted".to_owned(),
        }];
        let sizes = [
            ("depth", problem.ast_depth),
            ("cyclomatic", problem.cyclomatic),
            ("lines", problem.loc),
            ("variables", problem.variables),
        ];
        let known = sizes.iter().filter_map(|(name, size)| Some((name, (*size)?)));
        facts.extend(known.map(|(name, size)| format!("{name} {size}")));
        facts.join(" · ")
    }
}

#[derive(Template, Serialize)]
#[template(path = "problems/of_run.html")]
struct RunProblemsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    items: Vec<problems::Problem>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    form: Form,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    questions: HashMap<Uuid, String>,
}

impl RunProblemsPage {
    fn rows(&self) -> Vec<Shown<'_>> {
        let shown = |problem| Shown {
            problem,
            run_id: self.run.run().id,
            run: None,
            proposer: problem.proposer_id.and_then(|id| self.names.get(&id).cloned()),
            question: self.questions.get(&problem.id),
        };
        self.items.iter().map(shown).collect()
    }
}

#[derive(Template, Serialize)]
#[template(path = "problems/of_all_runs.html")]
struct ProblemsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<FoundProblem>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    questions: HashMap<Uuid, String>,
    #[serde(skip)]
    form: Form,
}

impl ProblemsPage {
    fn rows(&self) -> Vec<Shown<'_>> {
        let found = self.items.iter();
        found
            .map(|found| Shown {
                problem: &found.problem,
                run_id: found.run_id,
                run: Some(&found.run),
                proposer: None,
                question: self.questions.get(&found.problem.id),
            })
            .collect()
    }
}

/// The questions of those of `problems` that are not about a program.
async fn questions<'p>(
    db: &PgPool,
    problems: impl Iterator<Item = &'p problems::Problem>,
) -> Result<HashMap<Uuid, String>, ApiError> {
    let without = problems.filter(|problem| problem.program.is_none() && problem.valid);
    let ids: Vec<Uuid> = without.map(|problem| problem.id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let question = |(id, values): (Uuid, serde_json::Value)| match Values::deserialize(values).ok()? {
        Values::Math { question, .. } | Values::Code { question, .. } => Some((id, question)),
        Values::Function { message, .. } => Some((id, message)),
        Values::Io { .. } => None,
    };
    let values = problems::values(db, &ids).await?;
    Ok(values.into_iter().filter_map(question).collect())
}

#[get("/runs/{id}/problems")]
pub(crate) async fn show_run_problems(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<ProblemsFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let (listing, sort) = asked.listing()?;
    let run = RunFrame::load(&lab, *id, Tab::Problems).await?;
    let page = listing.page(problems::page(db, *id, &asked.for_store(), sort, listing.window()).await?);
    let family = members::names(db, *id, MEMBERS).await?;
    let proposers = family
        .iter()
        .filter(|member| plays(&member.roles, Side::Proposes))
        .map(|member| Link { id: member.id, name: member.name.clone() });
    let proposers: Vec<Link> = proposers.collect();
    let sides = SideNames::of(&family);
    view.show(&RunProblemsPage {
        layout: view.layout(format!("Problems · {}", run.run().name), Section::Runs),
        names: names(family),
        questions: questions(db, page.items.iter()).await?,
        items: page.items,
        pager: view.pager(page.next),
        form: Form { proposers, proposer: sides.proposer, asked, of_run: true },
        run,
    })
}

/// Problems of all runs.
#[get("/problems")]
pub(crate) async fn show_all_problems(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<ProblemsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    if matches!(asked.sort, Some(Sort::Hardest | Sort::Easiest)) {
        let detail = "across runs, problems can only be sorted by age; use a run's own page to sort by solve rate";
        return Err(ApiError::invalid_query(vec![("sort".to_owned(), detail.to_owned())]));
    }
    let order = (asked.sort == Some(Sort::Oldest)).then_some(Order::Oldest);
    let listing = Listing::new("problems.all", None, asked.cursor.as_deref(), order)?;
    let found = problems::page_of_all_runs(lab.store.pool(), &asked.for_store(), listing.window()).await?;
    let page = listing.page(found);
    view.show(&ProblemsPage {
        layout: view.layout("Problems", Section::Problems),
        questions: questions(lab.store.pool(), page.items.iter().map(|found| &found.problem)).await?,
        items: page.items,
        pager: view.pager(page.next),
        form: Form { proposers: Vec::new(), proposer: String::new(), asked, of_run: false },
    })
}
