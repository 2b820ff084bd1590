//! `/runs/{id}/problems/{problem}`: the biography of a problem.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::{
    id::{ExecutionId, ProblemId},
    recipe::{ParentRelation, Side},
};
use lyceum_store::{
    attempts::{self, Answers, Attempt, AttemptFilter},
    members,
    problems::{self, ProblemParent},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

use super::{
    filters::Filters,
    format::counted,
    inert::{Excerpt, SHOWN, excerpt},
    layout::{Layout, Section, Tab},
    population::names,
    run_frame::RunFrame,
    scale::MEMBERS,
    view::View,
};
use crate::{
    api::{self, Api, Listing},
    api_error::ApiError,
};

/// Letters of the name of a part of a reward, at most.
const NAME: usize = 200;
/// Relatives that are named on each side.
const RELATIVES: usize = 50;

/// Which attempts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BiographyFilter {
    cursor: Option<String>,
}

#[derive(Template, Serialize)]
#[template(path = "run/problem.html")]
struct ProblemPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    problem: problems::Problem,
    relations: Vec<ProblemParent>,
    attempts: Vec<Attempt>,
    /// All answers to it, and how many are right. Its own count is left out for a dataset's row, which nobody is rewarded for.
    answers: Answers,
    next: Option<String>,
    /// What it was inspired by, and what it inspired.
    #[serde(skip)]
    before: Vec<Relative>,
    #[serde(skip)]
    after: Vec<Relative>,
    #[serde(skip)]
    names: HashMap<Uuid, String>,
    #[serde(skip)]
    next_page: Option<String>,
    #[serde(skip)]
    first_page: Option<String>,
}

/// A problem that this one came from, or that came from it.
struct Relative {
    id: Uuid,
    relation: ParentRelation,
    /// None where it belongs to another run, or is gone.
    problem: Option<problems::Problem>,
}

impl Relative {
    fn program(&self) -> Option<Excerpt> {
        let program = self.problem.as_ref()?.program.as_deref()?;
        Some(excerpt(program, 400))
    }
}

/// A value of the problem, and whether a solver sees it.
pub(super) struct Shown {
    name: String,
    text: Excerpt,
    /// `shown` or `hidden`; empty for a problem that nobody may attempt.
    to_solver: &'static str,
}

/// A part of a reward.
struct Part {
    name: String,
    value: String,
}

impl ProblemPage {
    fn name_of(&self, id: &Uuid) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| super::format::id(id))
    }

    fn program(&self) -> Option<Excerpt> {
        Some(excerpt(self.problem.program.as_deref()?, SHOWN))
    }

    fn prompt(&self) -> Option<Excerpt> {
        let prompt = self.problem.prompt.as_deref().filter(|prompt| !prompt.is_empty())?;
        Some(excerpt(prompt, SHOWN))
    }

    fn proposal(&self) -> Option<Excerpt> {
        let proposal = self.problem.proposal.as_deref().filter(|text| !text.is_empty())?;
        Some(excerpt(proposal, SHOWN))
    }

    fn reason(&self) -> Excerpt {
        excerpt(&self.problem.reason, SHOWN)
    }

    fn values(&self) -> Vec<Shown> {
        let values = self.problem.values.as_ref().unwrap_or(&Value::Null);
        values_of(&self.problem.problem_type, self.problem.valid, values)
    }

    /// Relatives that are not named.
    fn more_before(&self) -> usize {
        let all = self.relations.iter().filter(|one| one.problem_id == self.problem.id);
        all.count().saturating_sub(RELATIVES)
    }

    fn more_after(&self) -> usize {
        let all = self.relations.iter().filter(|one| one.parent_id == self.problem.id);
        all.count().saturating_sub(RELATIVES)
    }

    /// The share of the answers that are right, and how many there are.
    fn solve_rate(&self) -> Option<(f64, String)> {
        let (rate, count) = match self.problem.solve_rate {
            Some(rate) => (f64::from(rate), i64::from(self.problem.attempts)),
            None => (self.answers.share_correct()?, self.answers.count),
        };
        Some((rate, counted(&count, "attempt")))
    }

    /// Whether an attempt is an answer, rather than a plan or a judgement.
    fn is_answer(&self, attempt: &Attempt) -> bool {
        attempt.role.side() == Side::Solves
    }

    fn reward_parts(&self) -> Vec<Part> {
        parts_of(self.problem.reward_parts.as_ref().unwrap_or(&Value::Null))
    }

    fn parts_of(&self, attempt: &Attempt) -> Vec<Part> {
        parts_of(&attempt.reward_parts)
    }

    fn text_of(&self, attempt: &Attempt) -> Excerpt {
        excerpt(&attempt.text, SHOWN)
    }

    fn answer_of(&self, attempt: &Attempt) -> Option<Excerpt> {
        Some(excerpt(attempt.answer.as_deref()?, SHOWN))
    }

    fn reason_of(&self, attempt: &Attempt) -> Excerpt {
        excerpt(&attempt.reason, SHOWN)
    }
}

/// The biography of a problem.
#[get("/runs/{id}/problems/{problem}")]
pub(crate) async fn show_problem(
    view: View,
    api: web::Data<Api>,
    place: web::Path<(ExecutionId, ProblemId)>,
    filters: Filters<BiographyFilter>,
) -> Result<HttpResponse, ApiError> {
    let (id, problem_id) = place.into_inner();
    let db = api.store.pool();
    let cursor = filters.0.cursor.as_deref();
    let listing = Listing::new("attempts", None, cursor, Some(api::Order::Oldest))?;
    let run = RunFrame::load(db, id, Tab::Problems).await?;
    let problem = problems::find(db, id, problem_id).await?;
    let relations = problems::parents(db, problem_id).await?;
    let filter = AttemptFilter {
        problem: Some(problem_id),
        ..AttemptFilter::default()
    };
    let page = listing.page(attempts::page(db, id, &filter, listing.window()).await?);
    let (before, after) = relatives(&api, id, problem_id, &relations).await?;
    view.show(&ProblemPage {
        layout: view.layout(
            format!(
                "Problem {} of step {} · {}",
                problem.index,
                problem.step,
                run.run().name
            ),
            Section::Runs,
        ),
        names: names(members::names(db, id, MEMBERS).await?),
        before,
        after,
        next_page: page.next.as_deref().map(|next| view.with_cursor(Some(next))),
        first_page: cursor.map(|_| view.with_cursor(None)),
        attempts: page.items,
        answers: attempts::answers(db, problem_id).await?,
        next: page.next,
        problem,
        relations,
        run,
    })
}

async fn relatives(
    api: &Api,
    run: ExecutionId,
    problem: ProblemId,
    relations: &[ProblemParent],
) -> Result<(Vec<Relative>, Vec<Relative>), ApiError> {
    let of = |before: bool| {
        let other = move |relation: &ProblemParent| match before {
            true => (relation.problem_id == problem.0).then_some(relation.parent_id),
            false => (relation.parent_id == problem.0).then_some(relation.problem_id),
        };
        let named = relations
            .iter()
            .filter_map(move |relation| Some((other(relation)?, relation.relation)));
        named.take(RELATIVES).collect::<Vec<_>>()
    };
    let (before, after) = (of(true), of(false));
    let ids: Vec<Uuid> = before.iter().chain(&after).map(|(id, _)| *id).collect();
    let found = problems::by_ids(api.store.pool(), run, &ids).await?;
    let found: HashMap<Uuid, problems::Problem> = found.into_iter().map(|problem| (problem.id, problem)).collect();
    let relative = |(id, relation): (Uuid, ParentRelation)| Relative {
        id,
        relation,
        problem: found.get(&id).cloned(),
    };
    Ok((
        before.into_iter().map(relative).collect(),
        after.into_iter().map(relative).collect(),
    ))
}

/// What belongs to the program, and what of it a solver is shown: the output of `code_i`, the input of `code_o`, the message
/// and the first pairs of `code_f` (Absolute Zero, section 3.2).
pub(super) fn values_of(problem_type: &str, valid: bool, values: &Value) -> Vec<Shown> {
    let Some(fields) = values.as_object() else {
        return Vec::new();
    };
    let shown_pairs = fields.get("shown").and_then(Value::as_u64);
    let visible = |shown: bool| match (valid, shown) {
        (false, _) => "",
        (true, true) => "shown",
        (true, false) => "hidden",
    };
    // Inputs and outputs of a function in pairs, after what stands alone.
    let mut all: Vec<(usize, Shown)> = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| *name != "shown") {
        match value {
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    let shown = shown_pairs.is_some_and(|pairs| (place as u64) < pairs);
                    let value = Shown {
                        name: format!("{} {}", name.trim_end_matches('s'), place + 1),
                        text: excerpt(&text_of(item), SHOWN),
                        to_solver: visible(shown),
                    };
                    all.push((place + 1, value));
                }
            }
            value => {
                let shown = matches!(
                    (problem_type, name.as_str()),
                    ("code_i", "output") | ("code_o", "input") | ("code_f", "message")
                );
                let value = Shown {
                    name: name.clone(),
                    text: excerpt(&text_of(value), SHOWN),
                    to_solver: visible(shown),
                };
                all.push((0, value));
            }
        }
    }
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, value)| value).collect()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn parts_of(parts: &Value) -> Vec<Part> {
    let part = |(name, value): (&String, &Value)| Part {
        name: excerpt(&super::format::words(name), NAME).text,
        value: value.as_f64().map_or_else(
            || excerpt(&text_of(value), NAME).text,
            |number| super::format::value(&number),
        ),
    };
    parts.as_object().into_iter().flatten().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn seen(problem_type: &str, valid: bool, values: Value) -> Vec<(String, String, &'static str)> {
        values_of(problem_type, valid, &values)
            .into_iter()
            .map(|value| (value.name, value.text.text, value.to_solver))
            .collect()
    }

    #[test]
    fn what_a_solver_sees_is_told_from_what_it_must_find() {
        let row = |name: &str, text: &str, to_solver| (name.to_owned(), text.to_owned(), to_solver);
        let io = json!({"input": "1", "output": "2"});
        assert_eq!(
            seen("code_o", true, io.clone()),
            [row("input", "1", "shown"), row("output", "2", "hidden")]
        );
        assert_eq!(
            seen("code_i", true, io.clone()),
            [row("input", "1", "hidden"), row("output", "2", "shown")]
        );
        assert_eq!(seen("code_i", false, io)[0].2, "");
        let function = json!({"inputs": ["1", "2"], "outputs": ["3", "4"], "message": "m", "shown": 1});
        assert_eq!(
            seen("code_f", true, function),
            [
                row("message", "m", "shown"),
                row("input 1", "1", "shown"),
                row("output 1", "3", "shown"),
                row("input 2", "2", "hidden"),
                row("output 2", "4", "hidden"),
            ]
        );
        assert_eq!(seen("code_f", true, Value::Null), []);
    }
}
