//! A run's own problems, and the attempts at one of them.

use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_core::problem::{Values, parts};
use lyceum_core::recipe::Side;
use lyceum_core::verify::ProblemKind;
use lyceum_store::attempts::{self, Attempt, AttemptFilter};
use lyceum_store::members;
use lyceum_store::page::{Order, Window};
use lyceum_store::problems::{self, Problem, ProblemFilter, ProblemSort};
use serde::Deserialize as _;
use sqlx::PgPool;
use std::collections::HashMap;
use uuid::Uuid;

use super::answers::{Given, grouped};
use super::{Facet, Item, Open, Part, SamplesFilter, Shown, Solved};
use crate::api_error::ApiError;
use crate::contract::Listing;
use crate::frame::format;
use crate::frame::run::RunFrame;
use crate::frame::sides::{SideNames, plays, solves};
use crate::frame::steps::MEMBERS;
use crate::frame::text::inert;
use crate::frame::view::View;

/// Problems of the list.
const ITEMS: u32 = 40;
/// Attempts that are read, the newest.
const ATTEMPTS: u32 = 200;
/// Proposers to choose from.
const PROPOSERS: usize = 12;

pub(super) async fn load(view: &View, db: &PgPool, run: &RunFrame, asked: &SamplesFilter) -> Result<Shown, ApiError> {
    let id = ExecutionId(run.run().id);
    let listing = Listing::new("samples.own", Some(ITEMS), asked.cursor.as_deref(), None)?;
    let (solve_rate_min, solve_rate_max) = solve_rates(asked.solved, run.capabilities.repeats);
    let filter = ProblemFilter {
        step: asked.step,
        problem_type: asked.kind.clone(),
        proposer: asked.proposer.map(MemberId),
        text: asked.q.clone(),
        solve_rate_min,
        solve_rate_max,
        ..ProblemFilter::default()
    };
    let family = members::names(db, id, MEMBERS).await?;
    let found = problems::page(db, id, &filter, ProblemSort::Age, listing.window()).await?;
    let page = listing.page(found);
    let opened = match &asked.open {
        Some(open) => Some(open.parse::<Uuid>().map_err(|_| {
            let detail = format!("`{open}` is no id of a problem of this run");
            ApiError::invalid_query(vec![("open".to_owned(), detail)])
        })?),
        None => page.items.first().map(|problem| problem.id),
    };
    let facets = facets(view, run, &family);
    let names: HashMap<Uuid, String> = family.into_iter().map(|member| (member.id, member.name)).collect();
    let item = |problem: &Problem| Item {
        open: problem.id.to_string(),
        label: format!("Step {}, problem {}", problem.step, problem.index),
        facts: facts(problem),
        address: view.with_open(&problem.id.to_string()),
        is_open: opened == Some(problem.id),
    };
    let items = page.items.iter().map(item).collect();
    let open = match opened {
        Some(problem) => Some(open(db, id, ProblemId(problem), &names).await?),
        None => None,
    };
    Ok(Shown { facets, items, next: page.next, open })
}

/// The least and the greatest solve rate. Rows of a dataset have none.
fn solve_rates(solved: Option<Solved>, are_rows: bool) -> (Option<f32>, Option<f32>) {
    match solved {
        None if are_rows => (None, None),
        None => (Some(0.0), None),
        Some(Solved::Any) => (None, None),
        Some(Solved::Never) => (None, Some(0.0)),
        Some(Solved::Sometimes) => (Some(f32::EPSILON), Some(1.0 - f32::EPSILON)),
        Some(Solved::Always) => (Some(1.0), None),
    }
}

fn facets(view: &View, run: &RunFrame, family: &[members::MemberName]) -> Vec<Facet> {
    let any = |label: &str| (None, label.to_owned(), None);
    let mut facets = Vec::new();
    if !run.capabilities.repeats {
        let choices =
            [("never", "by none"), ("sometimes", "by some"), ("always", "by all"), ("any", "also not attempted")];
        let choices = choices.map(|(value, label)| (Some(value.to_owned()), label.to_owned(), None));
        facets.push(Facet::of(view, "Solved", "solved", [any("attempted")].into_iter().chain(choices)));
    }
    let types = ProblemKind::ALL.map(|kind| (Some(kind.name().to_owned()), kind.name().to_owned(), None));
    facets.push(Facet::of(view, "Type", "type", [any("any")].into_iter().chain(types)));
    let proposers = family.iter().filter(|member| plays(&member.roles, Side::Proposes));
    let proposers = proposers.map(|member| (Some(member.id.to_string()), inert(&member.name), None));
    let title = format::capital(&SideNames::of(family).proposer);
    facets.push(Facet::of(view, &title, "proposer", [any("any")].into_iter().chain(proposers.take(PROPOSERS))));
    facets
}

fn facts(problem: &Problem) -> String {
    let kind = problem.problem_type.name();
    match problem.solve_rate {
        _ if !problem.valid => format!("{kind} · {}", problem.status),
        Some(rate) => format!("{kind} · {:.0} of {} solved it", rate * problem.attempts as f32, problem.attempts),
        None => kind.to_owned(),
    }
}

/// A problem with what was answered to it.
async fn open(db: &PgPool, run: ExecutionId, id: ProblemId, names: &HashMap<Uuid, String>) -> Result<Open, ApiError> {
    let problem = problems::find(db, run, id).await?;
    let filter = AttemptFilter { problem: Some(id), evaluations: true, ..AttemptFilter::default() };
    let newest = Window { limit: ATTEMPTS, after: None, order: Order::Newest };
    let attempts = attempts::page(db, run, &filter, &newest).await?.items;
    let name = |attempt: &Attempt| {
        let name = names.get(&attempt.member_id).cloned().unwrap_or_else(|| format::id(&attempt.member_id));
        let role = if solves(&attempt.role) { String::new() } else { format!(" as {}", attempt.role) };
        let place = match attempt.evaluation_id {
            Some(_) => " in an evaluation",
            None => "",
        };
        format!("{name}{role}{place}")
    };
    let given = attempts.into_iter().map(|attempt| Given {
        by: name(&attempt),
        correct: solves(&attempt.role).then_some(attempt.correct),
        answer: attempt.answer,
        text: attempt.text,
        reason: attempt.reason,
        reward: Some(f64::from(attempt.reward)),
        parts: attempt.reward_parts,
    });
    Ok(Open {
        title: format!("Problem {} of step {}", problem.index, problem.step),
        more: Some((format!("/runs/{run}/problems/{id}"), "Its history")),
        answers: grouped(given),
        checkpoints: Vec::new(),
        prompt: prompt(problem),
    })
}

/// What a solver sees of a problem, and what it does not see.
fn prompt(problem: Problem) -> Vec<Part> {
    // A row of a dataset has the solver's prompt.
    if let Some(prompt) = problem.prompt.filter(|prompt| problem.proposer_id.is_none() && !prompt.is_empty()) {
        return vec![Part { name: "prompt".to_owned(), text: prompt, is_shown: true, is_program: false }];
    }
    let program = problem.program.as_deref();
    let values = problem.values.and_then(|values| Values::deserialize(values).ok());
    let Some(values) = values else {
        return program
            .map(|program| Part {
                name: "program".to_owned(),
                text: program.to_owned(),
                is_shown: true,
                is_program: true,
            })
            .into_iter()
            .collect();
    };
    let part = |part: lyceum_core::problem::Part<'_>| {
        Some(Part {
            text: part.text?.to_owned(),
            is_program: part.name == "program",
            name: part.name.into_owned(),
            is_shown: part.shown,
        })
    };
    parts(problem.problem_type, program, &values).into_iter().filter_map(part).collect()
}
