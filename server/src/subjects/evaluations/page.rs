//! `/evaluations`: evaluations by type, state and run.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::benchmark::{SuiteChoice, SuiteRequest};
use lyceum_core::evaluation::EvaluationType;
use lyceum_core::id::ExecutionId;
use lyceum_store::evaluations::{self, Evaluation, EvaluationFilter, EvaluationProgress};
use lyceum_store::executions::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::collections::HashMap;
use strum::VariantArray as _;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::{Listing, Order};
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// Subjects named in a list.
const NAMED: usize = 4;

/// Filters of evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvaluationsFilter {
    run: Option<Uuid>,
    state: Option<State>,
    #[serde(rename = "type")]
    kind: Option<EvaluationType>,
    cursor: Option<String>,
    order: Option<Order>,
}

/// An evaluation in the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EvaluationLine {
    #[serde(flatten)]
    pub(crate) evaluation: Evaluation,
    /// The name of its run.
    pub(crate) run: Option<String>,
    pub(crate) subjects: Vec<String>,
    /// Items of its current step, and how many of them have ended.
    pub(crate) step_items: i32,
    pub(crate) step_ended: i32,
}

impl EvaluationLine {
    /// `evaluations` with their progress.
    pub(crate) async fn of(db: &PgPool, evaluations: Vec<Evaluation>) -> Result<Vec<Self>, ApiError> {
        let ids: Vec<Uuid> = evaluations.iter().map(|evaluation| evaluation.id).collect();
        let progress = evaluations::progress(db, &ids).await?;
        let mut progress: HashMap<Uuid, EvaluationProgress> = progress.into_iter().map(|one| (one.id, one)).collect();
        let line = |evaluation: Evaluation| {
            let progress = progress.remove(&evaluation.id);
            let (step_items, step_ended) = progress.as_ref().map_or((0, 0), |one| (one.items, one.ended));
            let (run, subjects) = progress.map_or((None, Vec::new()), |one| (one.run, one.subjects));
            Self { evaluation, run, subjects, step_items, step_ended }
        };
        Ok(evaluations.into_iter().map(line).collect())
    }

    /// The type's name in its spec.
    pub(crate) fn kind(&self) -> &str {
        self.evaluation.spec["type"].as_str().unwrap_or_default()
    }

    /// The page of its run that shows what it measures, below the run's address.
    pub(crate) fn tab(&self) -> &'static str {
        match self.kind() {
            "benchmark" => "/benchmarks",
            "cross_play" => "/cross-play",
            "frozen_side" => "/arms-race",
            _ => "",
        }
    }

    /// The display names of a benchmark's suites.
    pub(crate) fn suites(&self) -> Vec<String> {
        let suites = self.evaluation.spec["suites"].as_array();
        let choices = suites.into_iter().flatten().filter_map(|choice| SuiteChoice::deserialize(choice).ok());
        let name = |request: SuiteRequest| request.name.unwrap_or(request.suite);
        choices.map(|choice| format::suite_title(&name(choice.request())).to_owned()).collect()
    }

    pub(crate) fn suites_in_words(&self) -> String {
        self.suites().join(", ")
    }

    /// The names of the first subjects, and the number of others.
    pub(crate) fn subjects_in_words(&self) -> String {
        let named = self.subjects.iter().take(NAMED).map(|name| crate::frame::text::inert(name));
        let mut words = named.collect::<Vec<_>>().join(", ");
        if self.subjects.len() > NAMED {
            words.push_str(&format!(" and {} more", self.subjects.len() - NAMED));
        }
        words
    }

    /// Whether it has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.evaluation.state.is_open()
    }

    pub(crate) fn progress(&self) -> String {
        let Evaluation { step, steps, .. } = self.evaluation;
        let part = match self.kind() {
            "benchmark" => "suite",
            _ => "step",
        };
        match self.is_open() {
            true if steps > 1 => {
                format!("{part} {} of {steps}, {} of {} items", step + 1, self.step_ended, self.step_items)
            }
            true => format!("{} of {} items", self.step_ended, self.step_items),
            false if steps == 1 => format!("{step} of 1 {part}"),
            false => format!("{step} of {steps} {part}s"),
        }
    }
}

#[derive(Template, Serialize)]
#[template(path = "evaluations/list.html")]
struct EvaluationsPage {
    #[serde(skip)]
    layout: Layout,
    items: Vec<EvaluationLine>,
    #[serde(flatten)]
    pager: Pager,
    #[serde(skip)]
    asked: EvaluationsFilter,
}

impl EvaluationsPage {
    fn types(&self) -> Vec<(&'static str, bool)> {
        let all = EvaluationType::VARIANTS.iter();
        all.map(|kind| (kind.name(), self.asked.kind == Some(*kind))).collect()
    }

    fn states(&self) -> [(State, bool); State::ALL.len()] {
        State::ALL.map(|state| (state, self.asked.state == Some(state)))
    }

    fn is_filtered(&self) -> bool {
        self.asked.run.is_some() || self.asked.state.is_some() || self.asked.kind.is_some()
    }
}

/// The list of evaluations.
#[get("/evaluations")]
pub(crate) async fn show_evaluations(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<EvaluationsFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let db = lab.store.pool();
    let listing = Listing::new("evaluations", None, asked.cursor.as_deref(), asked.order)?;
    let filter = EvaluationFilter {
        run: asked.run.map(ExecutionId),
        state: asked.state,
        kind: asked.kind.map(EvaluationType::name),
    };
    let page = listing.page(evaluations::page(db, &filter, listing.window()).await?);
    view.show(&EvaluationsPage {
        layout: view.layout("Evaluations", Section::Evaluations),
        items: EvaluationLine::of(db, page.items).await?,
        pager: view.pager(page.next),
        asked,
    })
}
