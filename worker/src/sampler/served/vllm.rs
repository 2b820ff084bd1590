//! vLLM's dialect: its addresses, the bodies that it expects, and what it answers. Read against vLLM 0.32; another server is
//! another file like this one.

use lyceum_core::work::FinishReason;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask::{Ask, Choice};

/// Completes a prompt.
pub(super) const COMPLETIONS: &str = "/v1/completions";
/// Lists base models and adapters.
pub(super) const MODELS: &str = "/v1/models";
/// Loads an adapter. Only there with `VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`.
pub(super) const LOAD: &str = "/v1/load_lora_adapter";
/// Forgets an adapter.
pub(super) const UNLOAD: &str = "/v1/unload_lora_adapter";

/// The body of a request to complete `ask` with `model`. Every sampling field is written out: what is left out, a server may
/// fill in from the model's own defaults.
pub(super) fn completion(model: &str, ask: &Ask) -> Value {
    json!({
        "model": model,
        "prompt": ask.prompt,
        // vLLM refuses several greedy completions, which are all the same.
        "n": if ask.is_greedy() { 1 } else { ask.n },
        "max_tokens": ask.max_tokens,
        "temperature": ask.temperature,
        "top_p": ask.top_p,
        "top_k": ask.top_k,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        // Seeds are signed there.
        "seed": ask.seed & i64::MAX.cast_unsigned(),
        "stop": ask.stop,
        "stop_token_ids": ask.stop_ids,
        "ignore_eos": ask.ignore_eos,
        "skip_special_tokens": true,
        "logprobs": 0,
        "return_token_ids": true,
    })
}

/// The body of a request to load the adapter in `folder` as `name`.
pub(super) fn load(name: &str, folder: &str) -> Value {
    json!({ "lora_name": name, "lora_path": folder })
}

/// The body of a request to forget an adapter.
pub(super) fn unload(name: &str) -> Value {
    json!({ "lora_name": name })
}

#[derive(Deserialize)]
struct CompletionAnswer {
    model: String,
    choices: Vec<ChoiceAnswer>,
}

#[derive(Deserialize)]
struct ChoiceAnswer {
    index: usize,
    finish_reason: Option<String>,
    prompt_token_ids: Option<Vec<i64>>,
    token_ids: Option<Vec<i64>>,
    logprobs: Option<LogprobsAnswer>,
}

#[derive(Deserialize)]
struct LogprobsAnswer {
    token_logprobs: Vec<Option<f32>>,
}

/// The completions in the answer to a request of `ask` to `model`.
///
/// # Errors
/// The answer is to another request, or lacks something.
pub(super) fn choices(answer: &[u8], model: &str, ask: &Ask) -> Result<Vec<Choice>, String> {
    let answer: CompletionAnswer = serde_json::from_slice(answer).map_err(|error| format!("not its form ({error})"))?;
    if answer.model != model {
        return Err(format!("completions of `{}`, and `{model}` was asked", answer.model));
    }
    let wanted = if ask.is_greedy() { 1 } else { ask.n };
    if answer.choices.len() != wanted {
        return Err(format!("{} completions, and {wanted} were asked for", answer.choices.len()));
    }
    let mut choices = answer.choices;
    choices.sort_by_key(|choice| choice.index);
    let choices = choices.into_iter().enumerate().map(|(place, choice)| {
        if choice.index != place {
            return Err(format!("no completion {place}"));
        }
        match choice.prompt_token_ids {
            Some(ids) if ids == ask.prompt => {}
            Some(ids) => {
                return Err(format!(
                    "a prompt of {} tokens that is not the one of {} tokens that was sent",
                    ids.len(),
                    ask.prompt.len()
                ));
            }
            None => return Err("no `prompt_token_ids`".to_owned()),
        }
        let logprobs = choice.logprobs.ok_or("no `logprobs`")?.token_logprobs;
        Ok(Choice {
            ids: choice.token_ids.ok_or("no `token_ids`")?,
            logprobs: logprobs
                .into_iter()
                .map(|logprob| logprob.ok_or("a token without a log-probability"))
                .collect::<Result<_, _>>()?,
            finish_reason: match choice.finish_reason.as_deref() {
                Some("stop") => FinishReason::Stop,
                Some("length") => FinishReason::Length,
                Some(other) => return Err(format!("the end `{other}`")),
                None => return Err("no `finish_reason`".to_owned()),
            },
        })
    });
    choices.collect()
}

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Models {
    pub(super) bases: Vec<BaseCard>,
    pub(super) adapters: Vec<AdapterCard>,
}

/// A base model of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BaseCard {
    pub(super) name: String,
    /// What the server calls it itself: the value of `--model`.
    pub(super) root: Option<String>,
    /// The longest sequence.
    pub(super) longest: Option<usize>,
}

/// An adapter of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AdapterCard {
    pub(super) name: String,
    pub(super) folder: Option<String>,
}

#[derive(Deserialize)]
struct ModelsAnswer {
    data: Vec<Card>,
}

#[derive(Deserialize)]
struct Card {
    id: String,
    root: Option<String>,
    parent: Option<String>,
    max_model_len: Option<usize>,
}

/// Reads a list of models.
///
/// # Errors
/// It is something else.
pub(super) fn models(answer: &[u8]) -> Result<Models, String> {
    let answer: ModelsAnswer = serde_json::from_slice(answer).map_err(|error| error.to_string())?;
    let mut models = Models::default();
    for card in answer.data {
        match card.parent {
            None => models.bases.push(BaseCard { name: card.id, root: card.root, longest: card.max_model_len }),
            Some(_) => models.adapters.push(AdapterCard { name: card.id, folder: card.root }),
        }
    }
    Ok(models)
}

/// Why a server refuses, in its words.
pub(super) fn reason(answer: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(answer).ok();
    let message =
        parsed.as_ref().and_then(|answer| answer.pointer("/error/message").or_else(|| answer.get("message"))?.as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(answer).into_owned(), str::to_owned);
    text.trim().chars().take(500).collect()
}

/// Whether a refusal to load says that the name is loaded already.
pub(super) fn is_loaded_already(reason: &str) -> bool {
    reason.contains("already been loaded")
}

/// Whether a failure to load is the adapter's: vLLM calls that an internal error, too.
pub(super) fn is_unfit(reason: &str) -> bool {
    reason.contains("max_lora_rank")
}
