//! A check before a run begins that its bases can be asked in conversations, as far as their files are on this machine.

use lyceum_core::config::{PopulationConfig, RunConfig, pointer_token};
use lyceum_core::fault::Fault;
use lyceum_core::recipe::Recipe;
use lyceum_models::chat_template::ChatTemplate;

use crate::api_error::ApiError;
use crate::estimate::folder_of;

/// Faults of a resolved config. A base that is not on this machine has none here: a worker finds out.
pub(crate) fn faults(recipe: &dyn Recipe, config: &RunConfig) -> Result<Vec<Fault>, ApiError> {
    let prompts = recipe.conversations(config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let Some(prompts) = prompts else { return Ok(Vec::new()) };
    let fault = |(name, population): (&String, &PopulationConfig)| {
        let base = &population.base_model.name;
        let lacks = matches!(ChatTemplate::load(&folder_of(base)?), Ok(None));
        lacks.then(|| {
            let detail = format!(
                "`{base}` has no chat template, and `{}` asks in conversations: choose a base that was trained on \
                 instructions, put a chat_template.jinja into the base's folder, or choose prompts for models that continue a \
                 text, such as the set `azr` or the style `completion`",
                prompts.trim_start_matches('/').replace('/', ".")
            );
            Fault::new(format!("/populations/{}/base_model/name", pointer_token(name)), detail)
        })
    };
    Ok(config.populations.iter().filter_map(fault).collect())
}
