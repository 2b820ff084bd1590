//! `/problems` and `/runs/{id}/problems`: problems by words and by what is known of them.

mod form;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    members,
    problems::{self, FoundProblem},
};
use serde::Serialize;
use std::collections::HashMap;
use uuid::Uuid;

pub(super) use self::form::{Choice, types};
use self::form::{Form, ProblemsFilter, Sort};
use super::{
    filters::Filters,
    format::counted,
    inert::{Excerpt, SHOWN_IN_LIST, excerpt},
    layout::{Layout, Section, Tab},
    population::{Link, names},
    run_frame::RunFrame,
    scale::MEMBERS,
    view::View,
};
use crate::{
    api::{Api, Listing, Order},
    api_error::ApiError,
};

/// A row as both pages show it.
pub(crate) struct Shown<'a> {
    pub(crate) problem: &'a problems::Problem,
    pub(crate) run_id: Uuid,
    pub(crate) run: Option<&'a str>,
    pub(crate) proposer: Option<String>,
}

impl Shown<'_> {
    pub(crate) fn program(&self) -> Option<Excerpt> {
        let program = self.problem.program.as_deref()?;
        Some(excerpt(program, SHOWN_IN_LIST))
    }

    pub(crate) fn reason(&self) -> Excerpt {
        excerpt(&self.problem.reason, SHOWN_IN_LIST)
    }

    /// How it fared and how complex it is, in a line.
    pub(crate) fn facts(&self) -> String {
        let problem = self.problem;
        let mut facts = vec![match problem.solve_rate {
            Some(rate) => format!(
                "{:.0} % of {} solved it",
                rate * 100.0,
                counted(&i64::from(problem.attempts), "attempt")
            ),
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
#[template(path = "run/problems.html")]
struct RunProblemsPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    items: Vec<problems::Problem>,
    next: Option<String>,
    #[serde(skip)]
    form: Form,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
}

impl RunProblemsPage {
    fn rows(&self) -> Vec<Shown<'_>> {
        let shown = |problem| Shown {
            problem,
            run_id: self.run.run().id,
            run: None,
            proposer: problem.proposer_id.and_then(|id| self.names.get(&id).cloned()),
        };
        self.items.iter().map(shown).collect()
    }
}

#[derive(Template, Serialize)]
#[template(path = "problems.html")]
struct ProblemsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<FoundProblem>,
    next: Option<String>,
    #[serde(skip)]
    form: Form,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
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
            })
            .collect()
    }
}

/// Whether members in `role` propose problems.
pub(super) fn proposes(role: &str) -> bool {
    matches!(role, "teacher" | "proposer" | "challenger")
}

/// Problems of a run.
#[get("/runs/{id}/problems")]
pub(crate) async fn show_run_problems(
    view: View,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    filters: Filters<ProblemsFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = api.store.pool();
    let asked = filters.0;
    let (listing, sort) = asked.listing()?;
    let run = RunFrame::load(db, *id, Tab::Problems).await?;
    let page = listing.page(problems::page(db, *id, &asked.for_store(), sort, listing.window()).await?);
    let family = members::names(db, *id, MEMBERS).await?;
    let proposers = family
        .iter()
        .filter(|member| member.roles.iter().any(|role| proposes(role)))
        .map(|member| Link {
            id: member.id,
            name: member.name.clone(),
        });
    let proposers: Vec<Link> = proposers.collect();
    view.show(&RunProblemsPage {
        layout: view.layout(format!("Problems · {}", run.run().name), Section::Runs),
        names: names(family),
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.as_ref().map(|_| view.with_cursor(None)),
        items: page.items,
        next: page.next,
        form: Form {
            proposers,
            asked,
            of_run: true,
        },
        run,
    })
}

/// Problems of all runs.
#[get("/problems")]
pub(crate) async fn show_all_problems(
    view: View,
    api: web::Data<Api>,
    filters: Filters<ProblemsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    if matches!(asked.sort, Some(Sort::Hardest | Sort::Easiest)) {
        let detail = "over all runs problems are sorted by age; a run's own page sorts by solve rate";
        return Err(ApiError::invalid_query(vec![("sort".to_owned(), detail.to_owned())]));
    }
    let order = (asked.sort == Some(Sort::Oldest)).then_some(Order::Oldest);
    let listing = Listing::new("problems.all", None, asked.cursor.as_deref(), order)?;
    let found = problems::page_of_all_runs(api.store.pool(), &asked.for_store(), listing.window()).await?;
    let page = listing.page(found);
    view.show(&ProblemsPage {
        layout: view.layout("Problems", Section::Problems),
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: asked.cursor.as_ref().map(|_| view.with_cursor(None)),
        items: page.items,
        next: page.next,
        form: Form {
            proposers: Vec::new(),
            asked,
            of_run: false,
        },
    })
}
