//! Experiments: `/experiments`.

pub(crate) mod arms;
pub(super) mod page;
pub(crate) mod stopping;

use actix_web::{HttpRequest, HttpResponse, get, web};
use askama::Template;
use lyceum_core::id::ExperimentId;
use lyceum_store::experiments::{self, Experiment, ExperimentChanges, ExperimentFilter, NewExperiment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use self::stopping::Stopping;
use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Asked, Endpoint, Filter, Order, bounds, check_if_match, delete, list, show};
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// An experiment to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateExperiment {
    /// Its name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its description.
    #[serde(default)]
    #[schemars(length(max = bounds::NOTE))]
    description: String,
    /// Labels.
    #[serde(default)]
    #[schemars(length(max = bounds::TAGS))]
    tags: Vec<String>,
    /// When its arms have enough seeds.
    stopping: Option<Stopping>,
}

/// Changes to an experiment.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateExperiment {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// Its description.
    #[schemars(length(max = bounds::NOTE))]
    description: Option<String>,
    /// Labels.
    #[schemars(length(max = bounds::TAGS))]
    tags: Option<Vec<String>>,
    /// When its arms have enough seeds; `{"on": false}` switches the rule off.
    stopping: Option<Stopping>,
}

impl RequestBody for CreateExperiment {}
impl RequestBody for UpdateExperiment {}

impl Filter for ExperimentFilter {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_experiment", "/experiments").says("Create an experiment.", "The experiment");
    let new = Endpoint::post(new, "experiments", create_experiment).idempotent().takes::<CreateExperiment>();
    let new = new.creates::<Experiment>();
    let all = About::new("list_experiments", "/experiments").says("List experiments.", "A page of experiments");
    let all = list(all, "experiments", experiments::page);
    let one = About::new("show_experiment", "/experiments/{id}").says("Show an experiment.", "The experiment");
    let one = show(one, "experiments", experiments::find).id("id", "The experiment");
    let change = About::new("update_experiment", "/experiments/{id}").says("Change an experiment.", "The experiment");
    let change = Endpoint::patch(change, "experiments", update_experiment).id("id", "The experiment").if_match();
    let change = change.takes::<UpdateExperiment>().answers::<Experiment>();
    let removal = About::new("delete_experiment", "/experiments/{id}")
        .says("Delete an experiment that has no runs.", "It is gone");
    let removal =
        delete(removal, "experiments", experiments::find, experiments::remove).id("id", "The experiment").if_match();
    vec![new, all, one, change, removal]
}

async fn create_experiment(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateExperiment>,
) -> Result<Answer<Value>, ApiError> {
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = NewExperiment {
        name: &sent.value.name,
        description: &sent.value.description,
        tags: &sent.value.tags,
        stopping: Stopping::stored(sent.value.stopping.as_ref(), "/stopping")?.flatten(),
    };
    let made = experiments::create(&mut creation.tx, &new).await?;
    creation.finish(&made, &format!("/api/v1/experiments/{}", made.id)).await
}

async fn update_experiment(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExperimentId>,
    sent: Document<UpdateExperiment>,
) -> Result<Answer<Experiment>, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &experiments::find(db, *id).await?)?;
    let changes = ExperimentChanges {
        name: sent.value.name.as_deref(),
        description: sent.value.description.as_deref(),
        tags: sent.value.tags.as_deref(),
        stopping: Stopping::stored(sent.value.stopping.as_ref(), "/stopping")?,
    };
    Ok(Answer::ok(experiments::update(db, *id, &changes).await?))
}

/// An experiment and the number of its runs.
#[derive(Debug, Serialize)]
struct Counted {
    #[serde(flatten)]
    experiment: Experiment,
    runs: i64,
    open_runs: i64,
}

#[derive(Template, Serialize)]
#[template(path = "experiments/list.html")]
struct ExperimentsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    filter: ExperimentFilter,
    #[serde(skip)]
    oldest_first: bool,
    items: Vec<Counted>,
    #[serde(flatten)]
    pager: Pager,
}

impl ExperimentsPage {
    fn is_filtered(&self) -> bool {
        self.filter.name.is_some() || self.filter.tag.is_some()
    }
}

/// The list of experiments.
#[get("/experiments")]
pub(crate) async fn show_experiments(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<Asked<ExperimentFilter>>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let listing = asked.listing("experiments")?;
    let db = lab.store.pool();
    let page = listing.page(experiments::page(db, &asked.filter, listing.window()).await?);
    let ids: Vec<_> = page.items.iter().map(|experiment| experiment.id).collect();
    let counts = experiments::run_counts(db, &ids).await?;
    let counted = page.items.into_iter().map(|experiment| {
        let found = counts.iter().find(|(id, ..)| *id == experiment.id);
        let (runs, open_runs) = found.map_or((0, 0), |(_, runs, open)| (*runs, *open));
        Counted { experiment, runs, open_runs }
    });
    view.show(&ExperimentsPage {
        layout: view.layout("Experiments", Section::Experiments),
        items: counted.collect(),
        oldest_first: asked.order() == Order::Oldest,
        filter: asked.filter,
        pager: view.pager(page.next),
    })
}

#[derive(Template, Serialize)]
#[template(path = "experiments/new.html")]
struct NewExperimentPage {
    #[serde(skip)]
    layout: Layout,
    /// A file to begin with.
    example: String,
    presets: Vec<String>,
}

/// The form.
#[get("/experiments/new")]
pub(crate) async fn show_new_experiment(view: View, lab: web::Data<Lab>) -> Result<HttpResponse, ApiError> {
    let presets = lab.presets.all().map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let presets: Vec<String> = presets.into_iter().map(|preset| preset.name).collect();
    let first = presets.iter().find(|name| *name == "demo").or(presets.first());
    let preset = first.map_or("NAME", String::as_str);
    view.show(&NewExperimentPage {
        layout: view.layout("Run an experiment", Section::Experiments),
        example: format!(
            "title = \"LoRA ranks\"\nseeds = [1, 2, 3]\nconcurrency = 1\n\n[budget]\nhours = 8\n\n[arms.{preset}]\n\
             preset = \"{preset}\"\n\n[grid]\n\"populations.main.lora.r\" = [4, 8]\n"
        ),
        presets,
    })
}
