//! A search over names and ids, which `Ctrl-K` opens on every page.

use actix_web::web;
use lyceum_store::search::{self, Found};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query, bounds};
use crate::frame::layout::PLACES;
use crate::lab::Lab;

/// Pages that begin something.
const BEGINNINGS: [(&str, &str); 4] = [
    ("/runs/new", "New run"),
    ("/experiments/new", "New experiment"),
    ("/evaluations/new", "New evaluation"),
    ("/datasets/new", "Import a dataset"),
];

/// What to search for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchQuery {
    /// Part of a name (of a member, its beginning), or at least the first four digits of an id. Empty: only pages.
    #[serde(default)]
    #[schemars(length(max = bounds::NAME))]
    q: String,
    /// The most of each kind; 5 by default.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<u32>,
}

/// What something that was found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FoundKind {
    /// A page of the main navigation.
    Page,
    /// A page that begins something.
    Action,
    /// A run.
    Run,
    /// An experiment.
    Experiment,
    /// A member of a run.
    Member,
    /// A problem of a run.
    Problem,
    /// An evaluation.
    Evaluation,
    /// A dataset.
    Dataset,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Suggestion {
    /// What it is.
    kind: FoundKind,
    /// Its id; none of a page.
    id: Option<Uuid>,
    /// Its name; of a problem or an evaluation, its type.
    #[schema(example = "populora/1")]
    name: String,
    /// The run that it is of, or the place of a page; empty if there is none.
    of: String,
    /// The address of its page.
    #[schema(example = "/runs/0190a1b2-c3d4-7000-8000-000000000001")]
    address: String,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Suggestions {
    /// Pages and actions first, then what has the text in its name or id, by kind.
    items: Vec<Suggestion>,
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let find = About::new("search", "/search").says(
        "Search names and ids of runs, experiments, members, problems, evaluations and datasets, and pages.",
        "What was found",
    );
    let find = Endpoint::get(find, "search", show_found);
    vec![find.query::<SearchQuery>().answers::<Suggestions>()]
}

async fn show_found(lab: web::Data<Lab>, asked: Query<SearchQuery>) -> Result<Answer<Suggestions>, ApiError> {
    let each = asked.0.limit.unwrap_or(5);
    let text = asked.0.q.trim();
    let mut items = pages(text);
    if !text.is_empty() {
        let found = search::search(lab.store.pool(), text, each).await?;
        items.extend(found.into_iter().filter_map(Suggestion::of));
    }
    Ok(Answer::ok(Suggestions { items }))
}

/// Pages and actions whose label or place has `text` in it.
fn pages(text: &str) -> Vec<Suggestion> {
    let text = text.to_lowercase();
    let suggestion = |kind, of: &str, address: &str, name: &str| Suggestion {
        kind,
        id: None,
        name: name.to_owned(),
        of: of.to_owned(),
        address: address.to_owned(),
    };
    let actions = BEGINNINGS.iter().map(|(address, name)| suggestion(FoundKind::Action, "", address, name));
    let pages = PLACES.iter().flat_map(|(place, pages)| pages.iter().map(move |page| (place, page)));
    let pages = pages.map(|(place, (_, address, name))| suggestion(FoundKind::Page, place, address, name));
    let fits = |one: &Suggestion| one.name.to_lowercase().contains(&text) || one.of.to_lowercase().contains(&text);
    actions.chain(pages).filter(fits).collect()
}

impl Suggestion {
    /// What was found; `None` for a kind that has no page.
    fn of(found: Found) -> Option<Self> {
        let Found { kind, id, name, run_id, run_name } = found;
        let of_run = |part: &str| Some(format!("/runs/{}/{part}/{id}", run_id?));
        let (kind, address) = match kind.as_str() {
            "run" => (FoundKind::Run, format!("/runs/{id}")),
            "experiment" => (FoundKind::Experiment, format!("/experiments/{id}")),
            "member" => (FoundKind::Member, of_run("members")?),
            "problem" => (FoundKind::Problem, of_run("problems")?),
            "evaluation" => (FoundKind::Evaluation, format!("/evaluations/{id}")),
            "dataset" => (FoundKind::Dataset, format!("/datasets/{id}")),
            _ => return None,
        };
        Some(Self { kind, id: Some(id), name, of: run_name.unwrap_or_default(), address })
    }
}
