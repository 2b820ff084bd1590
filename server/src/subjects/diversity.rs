//! How much the questions of an iteration differ.

mod neighbours;
pub(super) mod page;

use actix_web::web;
use lyceum_core::config::RunConfig;
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_core::recipe::{Highlight, Metric};
use lyceum_store::diversity::{Question, measured, questions};
use lyceum_store::metrics;
use lyceum_store::runs::{self, RunDetail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query, bounds};
use crate::lab::Lab;

pub(crate) use neighbours::{Neighbours, RepeatedWording, Similarity, Wordings, neighbours, wordings};

/// The most questions of an iteration that are looked at.
const QUESTIONS: u32 = 20_000;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let iterations = About::new("show_diversity", "/runs/{id}/diversity")
        .says("Show how much the questions of each iteration of a run differ.", "The iterations");
    let iterations = Endpoint::get(iterations, "runs", show_diversity).id("id", "The run").answers::<Diversity>();
    let wordings = About::new("list_wordings", "/runs/{id}/diversity/wordings")
        .says("List the wordings most repeated in an iteration of a run.", "Wordings, the most repeated first");
    let wordings = Endpoint::get(wordings, "runs", list_wordings).id("id", "The run").query::<IterationQuery>();
    let wordings = wordings.answers::<Wordings>();
    let neighbours = About::new("list_neighbours", "/runs/{id}/problems/{problem}/neighbours").says(
        "List the questions of an iteration that are nearest to a problem's, by default of its own iteration.",
        "Neighbours, the nearest first",
    );
    let neighbours = Endpoint::get(neighbours, "runs", list_neighbours).id("id", "The run");
    let neighbours = neighbours.id("problem", "The problem").query::<IterationQuery>().answers::<Neighbours>();
    vec![iterations, wordings, neighbours]
}

/// The questions measured in `step`, in the order of their embeddings.
async fn asked(lab: &Lab, run: ExecutionId, step: u32) -> Result<Vec<Question>, ApiError> {
    Ok(questions(lab.store.pool(), run, step, QUESTIONS).await?)
}

/// The result of work on a thread where it holds nobody up.
async fn computed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal(&error))
}

/// Rows by default.
const ROWS: u32 = 10;

/// The iteration and the number of rows requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IterationQuery {
    /// The iteration, from 1; by default the last one measured.
    #[schemars(range(min = 1, max = i32::MAX))]
    iteration: Option<u32>,
    /// Maximum number of rows; 10 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
}

impl IterationQuery {
    fn rows(&self) -> usize {
        self.limit.unwrap_or(ROWS) as usize
    }
}

async fn show_diversity(lab: web::Data<Lab>, id: web::Path<ExecutionId>) -> Result<Answer<Diversity>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Diversity::read(&lab, &run).await?))
}

async fn list_wordings(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<IterationQuery>,
) -> Result<Answer<Wordings>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    let chosen = Diversity::read(&lab, &run).await?.chosen(query.0.iteration)?;
    Ok(Answer::ok(neighbours::wordings(&lab, *id, chosen, query.0.rows()).await?))
}

async fn list_neighbours(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, ProblemId)>,
    query: Query<IterationQuery>,
) -> Result<Answer<Neighbours>, ApiError> {
    let (id, problem) = place.into_inner();
    let run = runs::find(lab.store.pool(), id).await?;
    let of_run = Diversity::read(&lab, &run).await?;
    let found = neighbours::neighbours(&lab, (id, &of_run), problem, query.0.iteration, query.0.rows()).await?;
    Ok(Answer::ok(found))
}

/// The most iterations that are read: the last ones.
const ITERATIONS: u32 = 400;

/// Metrics of a run by iteration.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Diversity {
    /// Steps of an iteration.
    pub(crate) steps_per_iteration: u32,
    /// The iterations begun, at most the last 400, in order.
    pub(crate) iterations: Vec<Iteration>,
    /// The metrics that concern diversity.
    #[serde(skip)]
    pub(crate) metrics: Vec<Metric>,
}

/// An iteration.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Iteration {
    /// Its number, from 1.
    #[schema(example = 1)]
    pub(crate) iteration: u32,
    /// The step in which the diversity of its questions was measured; absent if it was not (yet), or there were no
    /// questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) measured_in: Option<u32>,
    /// The metrics that concern diversity, by name: the means over its steps that have a value.
    pub(crate) values: BTreeMap<&'static str, Option<f64>>,
}

impl Diversity {
    /// Reads the iterations of `run`; none if its recipe is unknown here or measures no diversity.
    pub(crate) async fn read(lab: &Lab, run: &RunDetail) -> Result<Self, ApiError> {
        let Ok(recipe) = lab.registry.get(&run.run.recipe) else { return Ok(Self::default()) };
        let is_shown = |metric: &Metric| {
            metric.highlights.contains(&Highlight::Diversity) && run.metrics.iter().any(|name| name == metric.name)
        };
        let shown: Vec<Metric> = recipe.metrics().into_iter().filter(is_shown).collect();
        let stages = RunConfig::deserialize(&run.config).ok().and_then(|config| recipe.stages(&config).ok().flatten());
        let width = stages.map_or(1, |stages| u32::try_from(stages.steps_per_iteration()).unwrap_or(u32::MAX));
        let place = |metric: &Metric| run.metrics.iter().position(|name| name == metric.name);
        let places: Vec<usize> = shown.iter().filter_map(place).collect();
        let (db, id) = (lab.store.pool(), ExecutionId(run.run.id));
        let (means, measured) =
            futures::try_join!(metrics::means(db, id, &places, width, ITERATIONS), measured(db, id, ITERATIONS))?;
        let iteration = |(number, values): (i32, Vec<Option<f64>>)| {
            let number = number.cast_unsigned();
            Iteration {
                iteration: number + 1,
                measured_in: measured.iter().copied().find(|step| step / width.max(1) == number),
                values: shown.iter().map(|metric| metric.name).zip(values).collect(),
            }
        };
        Ok(Self { steps_per_iteration: width, iterations: means.into_iter().map(iteration).collect(), metrics: shown })
    }

    /// The iterations whose questions were measured, with the step of the measurement.
    pub(crate) fn measured(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let of = |iteration: &Iteration| Some((iteration.iteration, iteration.measured_in?));
        self.iterations.iter().filter_map(of)
    }

    /// The measured iteration asked for, or the last one, with the step of the measurement; `None` if none was measured.
    ///
    /// # Errors
    /// 400 if the one asked for was not measured.
    pub(crate) fn chosen(&self, asked: Option<u32>) -> Result<Option<(u32, u32)>, ApiError> {
        let Some(asked) = asked else { return Ok(self.measured().next_back()) };
        let found = self.measured().find(|(number, _)| *number == asked);
        if found.is_none() {
            let valid: Vec<String> = self.measured().map(|(number, _)| number.to_string()).collect();
            let detail = match valid.is_empty() {
                true => format!("the questions of iteration {asked} were not measured: none has been so far"),
                false => format!("the questions of iteration {asked} were not measured; valid: {}", valid.join(", ")),
            };
            return Err(ApiError::invalid_query(vec![("iteration".to_owned(), detail)]));
        }
        Ok(found)
    }

    /// The iteration that a step is in, from 1.
    pub(crate) fn of_step(&self, step: u32) -> u32 {
        step / self.steps_per_iteration.max(1) + 1
    }
}
