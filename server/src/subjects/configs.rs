//! Recipes, the schema of their configs, presets, and the description of this API.

use actix_web::web;
use lyceum_core::config::{RunConfig, Schema};
use lyceum_core::recipe::{Capabilities, Highlight, Metric, Recipe, Role, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;

use crate::api_error::ApiError;
use crate::contract::{About, Answer, Endpoint, Query};
use crate::lab::{Lab, Preset};

/// The recipe of a schema.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfigSchemaQuery {
    /// Adds the schema of this recipe's parameters; without it they are open.
    recipe: Option<String>,
}

/// An algorithm.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecipeSummary {
    /// Its name.
    name: &'static str,
    /// What it does, in a sentence.
    summary: &'static str,
    /// The roles its members play; empty if they follow only from the config.
    roles: Vec<RoleSummary>,
    /// The features of its runs.
    capabilities: CapabilitySummary,
    /// Names of the metrics it records, in the order of their values.
    metrics: Vec<&'static str>,
    /// The same metrics in full.
    metric_details: Vec<MetricSummary>,
}

/// A role.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RoleSummary {
    /// Its name.
    #[schema(example = "teacher")]
    name: &'static str,
    /// What its members do with problems: `proposing`, `solving`, `planning` or `judging`.
    #[schema(example = "proposing")]
    side: &'static str,
}

/// The features of a recipe's runs besides problems, attempts and metrics.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CapabilitySummary {
    /// Members play matchups and are rated by them.
    rates: bool,
    /// Members are born and die after the first step.
    evolves: bool,
    /// Valid problems enter an archive.
    archives: bool,
    /// Any solver can attempt any proposer's problems, so missing cells of the cross-play matrix can be filled.
    crosses: bool,
    /// Runs are divided into stages.
    stages: bool,
    /// Problems are rows of a dataset, which members answer again and again.
    repeats: bool,
    /// Members propose programs with inputs and outputs, so any version can be asked for fresh problems.
    programs: bool,
    /// How much the questions of an iteration differ is measured.
    measures_diversity: bool,
    /// Problems that members propose join a growing set if a critic's score is high enough.
    admits: bool,
    /// Members work towards hard problems that nobody answers in a run.
    has_goalposts: bool,
}

/// A metric.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricSummary {
    /// Its name.
    #[schema(example = "solve_rate")]
    name: &'static str,
    /// Its unit; empty for a plain number.
    #[schema(example = "share")]
    unit: &'static str,
    /// Its meaning, in a sentence.
    summary: &'static str,
    /// The group of its first chart; none if it has no chart.
    group: Option<&'static str>,
    /// Titles of the charts that show it.
    charts: Vec<&'static str>,
    /// The side it is about, if it is about one only.
    side: Option<&'static str>,
    /// Where it is shown besides its charts: `step_line`, `comparison`, `learnability` or `diversity`.
    #[schema(value_type = Vec<String>)]
    highlights: &'static [Highlight],
}

/// All recipes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Recipes {
    /// The recipes, sorted by name.
    items: Vec<RecipeSummary>,
}

impl RecipeSummary {
    fn of(recipe: &dyn Recipe) -> Self {
        let Capabilities {
            rates,
            evolves,
            archives,
            crosses,
            stages,
            repeats,
            programs,
            measures_diversity,
            admits,
            has_goalposts,
        } = recipe.capabilities();
        let role = |role: Role| RoleSummary { name: role.name(), side: role.side().name() };
        Self {
            name: recipe.name(),
            summary: recipe.summary(),
            roles: recipe.roles().into_iter().map(role).collect(),
            capabilities: CapabilitySummary {
                rates,
                evolves,
                archives,
                crosses,
                stages,
                repeats,
                programs,
                measures_diversity,
                admits,
                has_goalposts,
            },
            metrics: recipe.metric_names(),
            metric_details: recipe.metrics().into_iter().map(MetricSummary::of).collect(),
        }
    }
}

impl MetricSummary {
    fn of(metric: Metric) -> Self {
        Self {
            name: metric.name,
            unit: metric.unit,
            summary: metric.summary,
            group: metric.charts.first().map(|chart| chart.group.title),
            charts: metric.charts.iter().map(|chart| chart.title).collect(),
            side: metric.side.map(Side::name),
            highlights: metric.highlights,
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let recipes = About::new("list_recipes", "/recipes").says("List the recipes this server knows.", "All recipes");
    let recipes = Endpoint::get(recipes, "configs", list_recipes).answers::<Recipes>();
    let schema = About::new("show_run_config_schema", "/schema/run-config")
        .says("Show the JSON Schema of a run config.", "JSON Schema, draft 2020-12");
    let schema = Endpoint::get(schema, "configs", show_run_config_schema).query::<RunConfigSchemaQuery>();
    let schema = schema.answers_object();
    let description =
        About::new("show_openapi", "/openapi.json").says("Show this description of the API.", "OpenAPI 3.1");
    let description = Endpoint::get(description, "service", show_openapi).answers_object().open();
    let presets = About::new("list_presets", "/presets").says("List presets.", "All presets");
    let presets = Endpoint::get(presets, "configs", list_presets).answers::<AllPresets>();
    let preset = About::new("show_preset", "/presets/{name}").says("Show a preset.", "The preset");
    let preset = Endpoint::get(preset, "configs", show_preset);
    let preset = preset.name("name", "The preset").answers::<Preset>();
    vec![recipes, schema, description, presets, preset]
}

async fn list_recipes(lab: web::Data<Lab>) -> Answer<Recipes> {
    let recipes = lab.registry.recipes();
    let items = recipes.map(|recipe| RecipeSummary::of(recipe.as_ref())).collect();
    Answer::ok(Recipes { items })
}

async fn show_run_config_schema(
    lab: web::Data<Lab>,
    query: Query<RunConfigSchemaQuery>,
) -> Result<Answer<Value>, ApiError> {
    let schema = match query.0.recipe.as_deref() {
        Some(name) => lab
            .registry
            .config_schema(name)
            .map_err(|unknown| ApiError::invalid_query(vec![("recipe".to_owned(), unknown.to_string())]))?,
        None => Schema::of::<RunConfig>(),
    };
    Ok(Answer::ok(schema.document().clone()))
}

async fn show_openapi(document: web::Data<OpenApi>) -> Result<Answer<Value>, ApiError> {
    let document = serde_json::to_value(&**document).map_err(|error| ApiError::internal(&error))?;
    Ok(Answer::ok(document))
}

/// All presets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AllPresets {
    /// The presets, sorted by name.
    items: Vec<Preset>,
}

async fn list_presets(lab: web::Data<Lab>) -> Result<Answer<AllPresets>, ApiError> {
    let items = lab.presets.all().map_err(|error| ApiError::internal(&error))?;
    Ok(Answer::ok(AllPresets { items }))
}

async fn show_preset(lab: web::Data<Lab>, name: web::Path<String>) -> Result<Answer<Preset>, ApiError> {
    Ok(Answer::ok(lab.presets.get(&name).map_err(ApiError::not_found)?))
}
