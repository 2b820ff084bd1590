//! `/evaluations/new`: a form for an evaluation of any type, made from the schema of its spec, with its cost.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::benchmark::shipped_suites;
use lyceum_core::config::Schema;
use lyceum_core::evaluation::{
    BenchmarkSpec, CrossPlaySpec, DatasetCheckSpec, EvaluationSpec, EvaluationType, FrozenSideSpec, GoalpostsSpec,
    OperatorRetentionSpec, RegenerateSpec,
};
use lyceum_core::id::ExecutionId;
use lyceum_store::page::{Order, Window};
use lyceum_store::runs::{self, RunFilter, RunSort};
use lyceum_store::{StoreError, datasets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use strum::VariantArray as _;
use uuid::Uuid;

use super::cost::EvaluationCost;
use super::planned;
use crate::api_error::ApiError;
use crate::frame::config_form::{Line, lines_under};
use crate::frame::figure::island;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, View};
use crate::lab::Lab;

/// Runs and datasets that are suggested.
const SUGGESTED: u32 = 100;

/// The first content of the form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewEvaluationFilter {
    #[serde(rename = "type")]
    kind: Option<EvaluationType>,
    run: Option<Uuid>,
    step: Option<u32>,
    /// Suites, separated by commas.
    suites: Option<String>,
    dataset: Option<String>,
    rows: Option<u32>,
    attempt: Option<Uuid>,
    problem: Option<Uuid>,
}

impl NewEvaluationFilter {
    /// The fields of the spec that the address gives.
    fn spec(&self, kind: EvaluationType) -> Value {
        let run = self.run.map(|run| json!(run));
        let under = |name: &str| match (kind, name) {
            (EvaluationType::Goalposts, "run") => ("runs", run.as_ref().map(|run| json!([{"run": run}]))),
            (EvaluationType::OperatorRetention, "run") => ("parents", run.as_ref().map(|run| json!([{"run": run}]))),
            _ => ("run", run.clone()),
        };
        let suites = self.suites.as_deref().map(|all| json!(all.split(',').collect::<Vec<_>>()));
        let given = [
            under("run"),
            ("step", self.step.map(|step| json!(step))),
            ("suites", suites),
            ("dataset", self.dataset.as_ref().map(|dataset| json!(dataset))),
            ("rows", self.rows.map(|rows| json!(rows))),
            ("attempt", self.attempt.map(|attempt| json!(attempt))),
            ("problem", self.problem.map(|problem| json!(problem))),
        ];
        let known = schema(kind).document()["properties"].clone();
        let given = given.into_iter().filter(|(name, _)| known.get(name).is_some());
        let mut spec: Map<String, Value> = given.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        spec.insert("type".to_owned(), json!(kind));
        Value::Object(spec)
    }
}

/// The schema of the specs of a type.
fn schema(kind: EvaluationType) -> &'static Schema {
    match kind {
        EvaluationType::Benchmark | EvaluationType::MajorityVote => Schema::of::<BenchmarkSpec>(),
        EvaluationType::CrossPlay => Schema::of::<CrossPlaySpec>(),
        EvaluationType::DatasetCheck => Schema::of::<DatasetCheckSpec>(),
        EvaluationType::FrozenSide => Schema::of::<FrozenSideSpec>(),
        EvaluationType::Goalposts => Schema::of::<GoalpostsSpec>(),
        EvaluationType::OperatorRetention => Schema::of::<OperatorRetentionSpec>(),
        EvaluationType::Regenerate => Schema::of::<RegenerateSpec>(),
    }
}

/// `given` with the defaults of `schema`, and with empty values for what has to be filled in.
fn filled(schema: &Value, given: &Value) -> Value {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    let value = |name: &str, field: &Value| match (&given[name], &field["default"]) {
        (Value::Null, Value::Null) if is_required(name) && field["type"] == "array" => json!([]),
        (Value::Null, Value::Null) if is_required(name) => json!(""),
        (Value::Null, default) => default.clone(),
        (given, _) => given.clone(),
    };
    fields.map(|(name, field)| (name.clone(), value(name, field))).collect()
}

#[derive(Template, Serialize)]
#[template(path = "evaluations/new.html")]
struct NewEvaluationPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(rename = "type")]
    kind: Option<EvaluationType>,
    /// All types, and what each answers.
    #[serde(skip)]
    types: Vec<(EvaluationType, &'static str)>,
    /// The spec that the form begins with, without defaults.
    spec: Option<Value>,
    /// Its cost, if it is complete.
    cost: Option<EvaluationCost>,
    #[serde(skip)]
    about: String,
    #[serde(skip)]
    lines: Vec<Line>,
    /// Names that are suggested, by the id of the list of suggestions.
    #[serde(skip)]
    suggested: Vec<(&'static str, Vec<(String, String)>)>,
}

impl NewEvaluationPage {
    fn types(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let types = self.types.iter();
        types.map(|(kind, question)| (kind.name(), *question, self.kind == Some(*kind)))
    }

    fn data(&self) -> String {
        island(&json!({"spec": self.spec, "origin": self.layout.origin}))
    }

    fn command(&self) -> String {
        let body = json!({"spec": self.spec}).to_string().replace('\'', "'\\''");
        format!(
            "curl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{body}' \\\n  \
             {}/api/v1/evaluations",
            self.layout.origin
        )
    }

    /// The cost in words.
    fn costs(&self) -> String {
        let Some(cost) = &self.cost else { return "not known until the form is complete".to_owned() };
        let count = |number: u64, noun| format::counted(&number.cast_signed(), noun);
        let time = match &cost.seconds {
            Some(seconds) => format!("about {}", format::duration(seconds)),
            None => "a time that is not known, since none of this type has completed".to_owned(),
        };
        format!("{}, {}, {time}", count(cost.rows, "row"), count(cost.answers, "answer"))
    }
}

#[get("/evaluations/new")]
pub(crate) async fn show_new_evaluation(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<NewEvaluationFilter>,
) -> Result<HttpResponse, ApiError> {
    let asked = filters.0;
    let mut spec = asked.kind.map(|kind| asked.spec(kind));
    if let (Some(EvaluationType::Benchmark), Some(run), Some(spec)) = (asked.kind, asked.run, &mut spec) {
        // As the run measures itself, so that its curves go on.
        let run = runs::find(lab.store.pool(), ExecutionId(run)).await?;
        if let Some(roles) = run.config.pointer("/benchmarks/roles") {
            spec["roles"] = roles.clone();
        }
        if asked.suites.is_none() {
            spec["suites"] = json!(imported_suites(&lab).await?);
        }
    }
    let mut cost = None;
    // What is not complete has no cost yet; the form says what is missing as it is filled in.
    if let Some(Ok(complete)) = spec.as_ref().map(EvaluationSpec::deserialize)
        && let Ok((config, planner)) = planned(&lab, &complete, 0, 0).await
    {
        cost = Some(EvaluationCost::of(lab.store.pool(), planner.as_ref(), &config).await?);
    }
    let (mut about, mut lines) = (String::new(), Vec::new());
    if let (Some(kind), Some(spec)) = (asked.kind, &spec) {
        let schema = schema(kind).document();
        about = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
        lines = lines_under("spec", &format::words(kind.name()), schema, &filled(schema, spec));
    }
    view.show(&NewEvaluationPage {
        layout: view.layout("New evaluation", Section::Evaluations),
        kind: asked.kind,
        types: EvaluationType::VARIANTS
            .iter()
            .filter_map(|kind| Some((*kind, lab.registry.planner(&kind.planner()).ok()?.summary())))
            .collect(),
        suggested: match asked.kind {
            Some(_) => suggested(&lab).await?,
            None => Vec::new(),
        },
        spec,
        cost,
        about,
        lines,
    })
}

/// The names of the suites whose rows are imported.
pub(crate) async fn imported_suites(lab: &Lab) -> Result<Vec<&'static str>, ApiError> {
    let mut db = lab.store.pool().acquire().await.map_err(StoreError::from)?;
    let mut imported = Vec::new();
    for suite in shipped_suites() {
        if datasets::newest_of_suite(&mut db, &suite.name).await?.is_some() {
            imported.push(suite.name.as_str());
        }
    }
    Ok(imported)
}

/// Newest runs, datasets and all suites: the values and what they are called, by the id of their list.
async fn suggested(lab: &Lab) -> Result<Vec<(&'static str, Vec<(String, String)>)>, ApiError> {
    let db = lab.store.pool();
    let newest = Window { limit: SUGGESTED, after: None, order: Order::Newest };
    let runs = runs::page(db, &RunFilter::default(), &RunSort::Age, &newest).await?.items;
    let runs: Vec<_> = runs.into_iter().map(|run| (run.id.to_string(), run.name)).collect();
    let datasets = datasets::page(db, None, &newest).await?.items;
    let datasets = datasets.into_iter().map(|one| (one.name, one.purpose.name().to_owned()));
    let suites = shipped_suites().iter().map(|suite| (suite.name.clone(), suite.title.clone()));
    Ok(vec![
        ("list-spec.run", runs.clone()),
        ("list-run", runs),
        ("list-spec.dataset", datasets.collect()),
        ("list-suites", suites.collect()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_form_with_each_field_of_its_spec() {
        for kind in EvaluationType::VARIANTS {
            let document = schema(*kind).document();
            let given = json!({"type": kind});
            let lines = lines_under("spec", "x", document, &filled(document, &given));
            for name in document["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                let path = format!("spec.{name}");
                let is_in = lines.iter().any(|line| match line {
                    Line::Field(field) => field.path == path || field.path.starts_with(&format!("{path}.")),
                    _ => false,
                });
                assert!(is_in, "{path} of {}", kind.name());
            }
        }
    }

    #[test]
    fn an_address_gives_a_run_to_each_type_where_its_spec_has_it() {
        let run = Uuid::from_u128(7);
        let asked: NewEvaluationFilter =
            serde_json::from_value(json!({"run": run, "rows": 8, "suites": "a,b"})).unwrap();
        let spec = |kind| asked.spec(kind);
        assert_eq!(
            spec(EvaluationType::Benchmark),
            json!({"type": "benchmark", "run": run, "rows": 8, "suites": ["a", "b"]})
        );
        assert_eq!(spec(EvaluationType::Goalposts), json!({"type": "goalposts", "runs": [{"run": run}], "rows": 8}));
        assert_eq!(spec(EvaluationType::FrozenSide), json!({"type": "frozen_side", "run": run}));
        assert_eq!(spec(EvaluationType::DatasetCheck), json!({"type": "dataset_check", "rows": 8}));
    }
}
