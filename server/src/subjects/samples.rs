//! `/runs/{id}/samples`: what was answered, to a run's own problems and to those of suites. Three panes: facets, a list of
//! problems, and the texts of one of them.

mod answers;
mod own;
mod suite;

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExecutionId;
use lyceum_store::benchmarks::{self, HELD_OUT_ROWS, RowChange, RunResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

use self::answers::Answer;
use crate::api_error::ApiError;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::places::Tab;
use crate::frame::run::RunFrame;
use crate::frame::text::{Excerpt, SHOWN, excerpt, inert};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// What became of a problem of a suite since the base answered it. It counts as solved if at least half of the answers are
/// right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// Solved now and not before.
    Solved,
    /// Solved neither before nor now.
    Failed,
    /// Solved before and not now.
    Broken,
    /// Solved before and now.
    Kept,
}

impl Change {
    const ALL: [Self; 4] = [Self::Solved, Self::Failed, Self::Broken, Self::Kept];

    /// What became of `row`; `None` if nobody knows how it was answered before.
    pub(crate) fn of(row: &RowChange) -> Option<Self> {
        Some(match (row.before? >= 0.5, row.after >= 0.5) {
            (false, true) => Self::Solved,
            (false, false) => Self::Failed,
            (true, false) => Self::Broken,
            (true, true) => Self::Kept,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::Broken => "broken",
            Self::Kept => "kept",
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Solved => "Solved now and not before",
            Self::Failed => "Still failed",
            Self::Broken => "Newly broken",
            Self::Kept => "Solved before and now",
        }
    }
}

/// How many of the attempts at a problem of the run solved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Solved {
    /// None.
    Never,
    /// Some.
    Sometimes,
    /// All.
    Always,
    /// Any number, or it was not attempted.
    Any,
}

/// What is listed, and whose texts are shown.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SamplesFilter {
    /// Problems of this suite, by the name of its results; the run's own problems by default.
    #[schemars(length(max = 200))]
    suite: Option<String>,
    /// Of a suite: what became of them since the base.
    change: Option<Change>,
    /// Of the run: how many attempts solved them. Those with any attempt by default.
    solved: Option<Solved>,
    #[serde(rename = "type")]
    #[schemars(length(max = 200))]
    kind: Option<String>,
    /// Of a suite.
    #[schemars(length(max = 200))]
    level: Option<String>,
    /// Of the run.
    #[schemars(range(max = 2_147_483_647))]
    step: Option<u32>,
    /// Of the run.
    proposer: Option<Uuid>,
    /// Of the run: with these words in the program or the reason.
    #[schemars(length(max = 1000))]
    q: Option<String>,
    /// The problem whose texts are shown: its id, or its row of the suite. The first by default.
    #[schemars(length(max = 100))]
    open: Option<String>,
    cursor: Option<String>,
}

/// A way to narrow the list.
struct Facet {
    title: String,
    options: Vec<FacetOption>,
}

struct FacetOption {
    label: String,
    count: Option<usize>,
    address: String,
    is_chosen: bool,
}

impl Facet {
    /// The parameter `name` of the address, with these values and labels.
    fn of(
        view: &View,
        title: &str,
        name: &str,
        options: impl IntoIterator<Item = (Option<String>, String, Option<usize>)>,
    ) -> Self {
        let chosen = view.parameter(name);
        let option = |(value, label, count): (Option<String>, String, Option<usize>)| FacetOption {
            address: view.with(&[(name, value.as_deref()), ("open", None)]),
            is_chosen: value == chosen,
            label,
            count,
        };
        Self { title: title.to_owned(), options: options.into_iter().map(option).collect() }
    }
}

/// A problem of the list.
#[derive(Serialize)]
struct Item {
    /// Its id, or its row of the suite.
    open: String,
    label: String,
    /// How often it was solved.
    facts: String,
    #[serde(skip)]
    address: String,
    #[serde(skip)]
    is_open: bool,
}

/// A text that a solver saw, or one that it did not see.
#[derive(Serialize)]
struct Part {
    name: String,
    text: String,
    is_shown: bool,
    #[serde(skip)]
    is_program: bool,
}

impl Part {
    fn excerpt(&self) -> Excerpt {
        excerpt(&self.text, SHOWN)
    }
}

/// How a checkpoint did on a problem of a suite.
#[derive(Serialize)]
struct Checkpoint {
    /// None for the base.
    step: Option<i32>,
    correct: usize,
    count: usize,
}

/// The problem whose texts are shown.
#[derive(Serialize)]
struct Open {
    title: String,
    /// The page with all there is about it, and the page's name.
    #[serde(skip)]
    more: Option<(String, &'static str)>,
    prompt: Vec<Part>,
    /// By step; empty for a problem of the run.
    checkpoints: Vec<Checkpoint>,
    answers: Vec<Answer>,
}

/// What a source of problems has to show.
struct Shown {
    facets: Vec<Facet>,
    items: Vec<Item>,
    next: Option<String>,
    open: Option<Open>,
}

#[derive(Template, Serialize)]
#[template(path = "samples/page.html")]
struct SamplesPage {
    #[serde(skip)]
    layout: Layout,
    run: RunFrame,
    /// The suite, by the name of its results; none for the run's own problems.
    suite: Option<String>,
    items: Vec<Item>,
    open: Option<Open>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    facets: Vec<Facet>,
    /// What the form keeps: name and value.
    #[serde(skip)]
    kept: Vec<(&'static str, String)>,
    #[serde(skip)]
    step: String,
    #[serde(skip)]
    words: String,
    #[serde(skip)]
    is_filtered: bool,
}

/// The results that say most of a run's present state, by the name of their suite.
fn newest(results: Vec<RunResult>) -> BTreeMap<String, RunResult> {
    let mut newest: BTreeMap<String, RunResult> = BTreeMap::new();
    for result in results.into_iter().filter(|result| result.suite != HELD_OUT_ROWS) {
        let is_newer = |known: &RunResult| known.weight() < result.weight();
        if newest.get(&result.suite).is_none_or(is_newer) {
            newest.insert(result.suite.clone(), result);
        }
    }
    newest
}

/// The run's own problems and its suites, each with an address without the other filters.
fn sources(view: &View, suites: &BTreeMap<String, RunResult>, chosen: Option<&str>) -> Facet {
    let path = view.request().path();
    let own =
        FacetOption { label: "its own".to_owned(), count: None, address: path.to_owned(), is_chosen: chosen.is_none() };
    let option = |(name, result): (&String, &RunResult)| {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("suite", name).finish();
        FacetOption {
            label: if *name == result.of_suite { format::suite_title(name).to_owned() } else { inert(name) },
            count: usize::try_from(result.rows).ok(),
            address: format!("{path}?{query}"),
            is_chosen: chosen == Some(name),
        }
    };
    Facet { title: "Problems".to_owned(), options: std::iter::once(own).chain(suites.iter().map(option)).collect() }
}

#[get("/runs/{id}/samples")]
pub(crate) async fn show_samples(
    view: View,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    filters: Filters<SamplesFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let run = RunFrame::load(&lab, *id, Tab::Samples).await?;
    let suites = newest(benchmarks::run_results(db, *id).await?);
    let shown = match &asked.suite {
        None => own::load(&view, db, &run, &asked).await?,
        Some(name) => match suites.get(name) {
            Some(result) => suite::load(&view, db, *id, result, &asked).await?,
            None => {
                let known: Vec<&str> = suites.keys().map(String::as_str).collect();
                let valid = match known.is_empty() {
                    true => "it has results on none".to_owned(),
                    false => format!("{} are valid", known.join(", ")),
                };
                let detail = format!("the run has no results on `{name}`: {valid}");
                return Err(ApiError::invalid_query(vec![("suite".to_owned(), detail)]));
            }
        },
    };
    let mut facets = vec![sources(&view, &suites, asked.suite.as_deref())];
    facets.extend(shown.facets);
    // A facet of one option chooses nothing.
    facets.retain(|facet| facet.options.len() > 1);
    let kept = ["solved", "type", "proposer"].into_iter().filter_map(|name| Some((name, view.parameter(name)?)));
    view.show(&SamplesPage {
        layout: view.layout(format!("Samples · {}", run.run().name), Section::Runs),
        kept: kept.collect(),
        step: asked.step.map(|step| step.to_string()).unwrap_or_default(),
        words: asked.q.clone().unwrap_or_default(),
        is_filtered: !view.request().query_string().is_empty(),
        pager: view.pager(shown.next),
        suite: asked.suite,
        items: shown.items,
        open: shown.open,
        facets,
        run,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_solved_if_half_of_the_answers_are_right() {
        let of = |before, after| {
            Change::of(&RowChange { row: 0, dataset_id: None, task_id: None, kind: None, level: None, before, after })
        };
        assert_eq!(of(Some(0.0), 0.5), Some(Change::Solved));
        assert_eq!(of(Some(0.25), 0.49), Some(Change::Failed));
        assert_eq!(of(Some(0.5), 0.0), Some(Change::Broken));
        assert_eq!(of(Some(1.0), 1.0), Some(Change::Kept));
        assert_eq!(of(None, 1.0), None);
    }
}
