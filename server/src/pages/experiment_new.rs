//! `/experiments/new`: an experiment from a file of arms, seeds and a grid.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use serde::Serialize;

use crate::{
    api_error::ApiError,
    frame::{
        layout::{Layout, Section},
        view::View,
    },
    lab::Lab,
};

#[derive(Template, Serialize)]
#[template(path = "experiment_new.html")]
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
    let presets = lab
        .presets
        .all()
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
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
