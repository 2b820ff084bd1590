//! Checks before a run begins that its members can be asked the rows of its dataset.

use lyceum_core::benchmark::{PromptStyle, prompt_styles};
use lyceum_core::config::RunConfig;
use lyceum_core::fault::Fault;
use lyceum_core::recipe::Recipe;
use lyceum_core::recipe::rows::RowsAsked;
use lyceum_store::datasets;
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokenizers::Tokenizer;

use crate::api_error::ApiError;
use crate::estimate::{context_of, folder_of};

/// Rows whose prompts are counted at a time.
const ROWS: u32 = 1000;

/// Faults of a resolved config whose datasets are there. Prompts for a base that is not on this machine have none here: a
/// worker counts their tokens in the first step.
pub(crate) async fn faults(
    db: &mut PgConnection,
    recipe: &dyn Recipe,
    config: &RunConfig,
) -> Result<Vec<Fault>, ApiError> {
    let asked = recipe.rows_asked(config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let Some(asked) = asked else { return Ok(Vec::new()) };
    let mut faults = Vec::new();
    // What a row asks depends only on its kind, so one of each is enough.
    let examples = datasets::examples(db, asked.dataset, asked.rows).await?;
    faults.extend(kind_fault(&asked, &examples));
    let bases: BTreeSet<&str> = config.populations.values().map(|of| of.base_model.name.as_str()).collect();
    for base in bases {
        match context_fault(&asked, base) {
            Some(fault) => faults.push(fault),
            None if faults.is_empty() => faults.extend(length_fault(&mut *db, &asked, base).await?),
            None => {}
        }
    }
    Ok(faults)
}

/// The fault of a style without a prompt for some rows.
fn kind_fault(asked: &RowsAsked, examples: &[(i32, Value)]) -> Option<Fault> {
    let misfit = |style: &PromptStyle| {
        let prompts = examples.iter().map(|(place, row)| {
            let prompt = RowsAsked::prompt(style, place.cast_unsigned(), row);
            prompt.map_err(|reason| format!("row {place}: {reason}"))
        });
        prompts.filter_map(Result::err).next()
    };
    let detail = misfit(&PromptStyle::shipped(&asked.prompts).ok()?)?;
    let fitting: Vec<&str> =
        prompt_styles().filter(|name| PromptStyle::shipped(name).is_ok_and(|style| misfit(&style).is_none())).collect();
    Some(Fault::new(format!("{}/prompts", asked.pointer), format!("{detail}; valid are {}", fitting.join(", "))))
}

/// The fault of answers that leave no room for a prompt in a base's context.
fn context_fault(asked: &RowsAsked, base: &str) -> Option<Fault> {
    let context = context_of(base)?;
    let most = context.saturating_sub(1);
    (u64::from(asked.max_tokens) > most).then(|| {
        let detail = format!(
            "{} tokens of an answer leave no room for a prompt in the context of `{base}`, {context} tokens: 1 to {most} is valid",
            asked.max_tokens
        );
        Fault::new(format!("{}/sampling/max_tokens", asked.pointer), detail)
    })
}

/// The fault of the longest prompt, if an answer of the most tokens does not fit after it.
async fn length_fault(db: &mut PgConnection, asked: &RowsAsked, base: &str) -> Result<Option<Fault>, ApiError> {
    let (Ok(style), most) = (PromptStyle::shipped(&asked.prompts), asked.max_tokens) else { return Ok(None) };
    let name = base.to_owned();
    let room = blocking(move || Room::of(&name, most)).await?;
    let Some(room) = room.map(Arc::new) else { return Ok(None) };
    let mut longest = None;
    for first in (0..asked.rows).step_by(ROWS as usize) {
        let rows = datasets::slice(&mut *db, asked.dataset, first, ROWS.min(asked.rows - first)).await?;
        let prompts: Vec<(u32, String)> = (first..)
            .zip(&rows)
            .filter_map(|(place, row)| Some((place, RowsAsked::prompt(&style, place, row).ok()?.text())))
            .collect();
        let room = Arc::clone(&room);
        let found = blocking(move || room.longest(&prompts)).await?;
        longest = longest.max(found);
    }
    Ok(longest.map(|longest| room.fault(asked.pointer, base, longest)))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ApiError::internal(&error))
}

/// A base on this machine, with a token limit for its answers.
pub(crate) struct Room {
    tokenizer: Tokenizer,
    context: u64,
    max_tokens: u64,
}

/// The tokens of a row's prompt, and the row's place.
pub(crate) type Length = (u64, u32);

impl Room {
    /// `None` if the base's context or tokenizer is not on this machine.
    pub(crate) fn of(base: &str, max_tokens: u32) -> Option<Self> {
        let context = context_of(base)?;
        let tokenizer = Tokenizer::from_file(folder_of(base)?.join("tokenizer.json")).ok()?;
        Some(Self { tokenizer, context, max_tokens: max_tokens.into() })
    }

    /// The longest of the prompts for which there is no room. A conversation is counted without what the chat template
    /// adds, so a worker may still find one that this finds to fit.
    pub(crate) fn longest(&self, prompts: &[(u32, String)]) -> Option<Length> {
        let room = self.context.saturating_sub(self.max_tokens);
        prompts
            .iter()
            // A token has at least one byte.
            .filter(|(_, prompt)| prompt.len() as u64 > room)
            .filter_map(|(place, prompt)| {
                let tokens = self.tokenizer.encode_fast(prompt.as_str(), false).ok()?.len() as u64;
                (tokens > room).then_some((tokens, *place))
            })
            .max()
    }

    /// The fault of the longest prompt; `pointer` is that of the rows' group in the config.
    pub(crate) fn fault(&self, pointer: &str, base: &str, (tokens, place): Length) -> Fault {
        let Self { context, max_tokens, .. } = self;
        let longest = format!("row {place} has the longest prompt, {tokens} tokens");
        if tokens < *context {
            let valid = context - tokens;
            let detail = format!(
                "{longest}, which leaves no room for {max_tokens} of an answer in the context of `{base}`, {context}: 1 to {valid} is valid"
            );
            return Fault::new(format!("{pointer}/sampling/max_tokens"), detail);
        }
        let detail = format!(
            "{longest}, beyond the context of `{base}`, {context}: import the rows again with a smaller `max_question_bytes`"
        );
        Fault::new(format!("{pointer}/dataset"), detail)
    }
}
