//! Checks before a run begins that masks of its vocabulary dropout are possible, as far as the base's files tell.

use lyceum_core::config::RunConfig;
use lyceum_core::fault::Fault;
use lyceum_core::recipe::Recipe;
use lyceum_core::vocabulary_dropout::{Spelling, Vocabulary};
use std::fs::File;
use std::io::Read as _;

use crate::api_error::ApiError;
use crate::estimate::{folder_of, vocabulary_of};

/// Maximum bytes of a `tokenizer.json`.
const TOKENIZER: u64 = 64 << 20;

/// Faults of a resolved config. A base that this machine does not know has none here: a worker checks the first batch.
pub(crate) async fn faults(recipe: &dyn Recipe, config: &RunConfig) -> Result<Vec<Fault>, ApiError> {
    let dropout = recipe.vocabulary_dropout(config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let Some((pointer, dropout, base)) = dropout else { return Ok(Vec::new()) };
    // A tokenizer has some megabytes.
    let vocabulary = tokio::task::spawn_blocking(move || known(base)).await;
    let vocabulary = vocabulary.map_err(|error| ApiError::internal(&error))?;
    Ok(vocabulary.map_or_else(Vec::new, |vocabulary| dropout.vocabulary_faults(pointer, &vocabulary)))
}

fn known(base: String) -> Option<Vocabulary> {
    Some(Vocabulary { size: vocabulary_of(&base)?, spelling: spelling(&base).unwrap_or_default(), base })
}

fn spelling(base: &str) -> Option<Spelling> {
    let mut text = Vec::new();
    let file = File::open(folder_of(base)?.join("tokenizer.json")).ok()?;
    file.take(TOKENIZER).read_to_end(&mut text).ok()?;
    Some(Spelling::of_tokenizer(&serde_json::from_slice(&text).ok()?))
}
