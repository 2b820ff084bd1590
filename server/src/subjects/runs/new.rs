//! `/runs/new`: a form for a run, filled from a preset or an existing run.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_core::config::{MAX_STEPS, resolve};
use lyceum_core::id::ExecutionId;
use lyceum_store::experiments::{self, ExperimentFilter};
use lyceum_store::page::{Order, Window};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::document::apart;
use crate::estimate::Estimate;
use crate::frame::config_form::{Line, lines_of};
use crate::frame::figure::island;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, View};
use crate::lab::{Lab, Preset};

/// The initial content of the form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRunFilter {
    preset: Option<String>,
    /// A run to copy.
    from: Option<Uuid>,
    /// A run to fork with changes.
    fork: Option<Uuid>,
    /// The step before which it is forked.
    #[schemars(range(max = MAX_STEPS))]
    step: Option<u32>,
}

/// The fork that a form makes.
#[derive(Debug, Serialize)]
struct ForkOf {
    run: Uuid,
    name: String,
    step: i32,
}

#[derive(Template, Serialize)]
#[template(path = "run_new.html")]
struct NewRunPage {
    #[serde(skip)]
    layout: Layout,
    presets: Vec<Preset>,
    /// The preset the form starts from.
    preset: Option<String>,
    /// Or the run it starts from.
    from: Option<Uuid>,
    /// Or the run that it forks.
    fork: Option<ForkOf>,
    #[serde(skip)]
    name: String,
    recipe: String,
    recipe_about: &'static str,
    /// The initial config, with every default filled in.
    config: Value,
    #[serde(skip)]
    lines: Vec<Line>,
    #[serde(skip)]
    experiments: Vec<String>,
    estimate: Estimate,
    #[serde(skip)]
    base_address: String,
}

impl NewRunPage {
    fn data(&self) -> String {
        island(&json!({
            "preset": self.preset,
            "fork": self.fork,
            "config": self.config,
            "address": self.base_address,
            "step_seconds": self.estimate.step_seconds,
        }))
    }

    /// The estimated time of all steps.
    fn estimated(&self) -> String {
        let seconds = self.estimate.seconds;
        seconds.map_or_else(|| "–".to_owned(), |seconds| format::duration(&seconds))
    }

    fn step_time(&self) -> String {
        format::duration(&self.estimate.step_seconds.unwrap_or(f64::NAN))
    }

    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn bytes(&self, bytes: &Option<u64>) -> String {
        bytes.map_or_else(|| "–".to_owned(), |bytes| format::bytes(&bytes.cast_signed()))
    }

    fn config_text(&self) -> String {
        serde_json::to_string_pretty(&self.config).unwrap_or_default()
    }

    /// The shell command that creates the run without changes.
    fn command(&self) -> String {
        let (body, address) = match (&self.fork, &self.preset) {
            (Some(fork), _) => (json!({"step": fork.step, "overrides": {}}), format!("/api/v1/runs/{}/fork", fork.run)),
            (None, Some(preset)) => (json!({"preset": preset, "overrides": {}}), "/api/v1/runs".to_owned()),
            (None, None) => (json!({"config": self.config, "overrides": {}}), "/api/v1/runs".to_owned()),
        };
        let body = body.to_string().replace('\'', "'\\''");
        format!(
            "curl -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{body}' \\\n  {}{address}",
            self.base_address
        )
    }

    fn preset_about(&self) -> &str {
        let chosen = self.presets.iter().find(|one| Some(&one.name) == self.preset.as_ref());
        chosen.map_or("", |preset| preset.description.as_str())
    }

    fn has_preset(&self, preset: &Preset) -> bool {
        self.preset.as_ref() == Some(&preset.name)
    }
}

/// The form.
#[get("/runs/new")]
pub(crate) async fn show_new_run(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<NewRunFilter>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let presets = lab.presets.all().map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let asked = filters.0;
    let wrong = |detail: String| ApiError::invalid_query(vec![("preset".to_owned(), detail)]);
    let mut fork = None;
    let (preset, name, document) = match (asked.fork.or(asked.from), asked.preset) {
        (Some(from), _) if asked.fork.is_some() => {
            let run = runs::find(db, ExecutionId(from)).await?;
            let step = asked.step.map_or(run.run.step, u32::cast_signed);
            fork = Some(ForkOf { run: from, name: run.run.name.clone(), step });
            (None, format!("{} (from step {step})", run.run.name), run.config)
        }
        (Some(from), _) => {
            let run = runs::find(db, ExecutionId(from)).await?;
            (None, format!("{} again", run.run.name), run.config)
        }
        (None, Some(name)) => {
            let preset = lab.presets.get(&name).map_err(wrong)?;
            (Some(preset.name.clone()), preset.name, preset.config)
        }
        (None, None) => {
            let first = presets.iter().find(|preset| preset.name == "demo").or(presets.first());
            let first = first
                .ok_or_else(|| ApiError::not_found("this server has no presets; POST /api/v1/runs takes a config"))?;
            (Some(first.name.clone()), first.name.clone(), first.config.clone())
        }
    };
    let registry = lab.registry.clone();
    let config = apart(move || resolve(&document, &registry)).await??;
    let recipe = lab.registry.get(&config.recipe).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let schema =
        lab.registry.config_schema(recipe.name()).map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let estimate = Estimate::of(db, &config, preset.as_deref(), asked.fork.or(asked.from).map(ExecutionId)).await?;
    let config = serde_json::to_value(&config).map_err(|error| ApiError::internal(&error))?;
    let newest = Window { limit: 100, after: None, order: Order::Newest };
    let experiments = experiments::page(db, &ExperimentFilter::default(), &newest).await?.items;
    let connection = view.request().connection_info().clone();
    view.show(&NewRunPage {
        layout: view.layout(if fork.is_some() { "Fork with changes" } else { "New run" }, Section::Runs),
        presets,
        preset,
        from: asked.from,
        fork,
        name,
        recipe: recipe.name().to_owned(),
        recipe_about: recipe.summary(),
        lines: lines_of(schema.document(), &config),
        config,
        experiments: experiments.into_iter().map(|experiment| experiment.name).collect(),
        estimate,
        base_address: format!("{}://{}", connection.scheme(), connection.host()),
    })
}
