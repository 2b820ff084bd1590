//! What the server is asked, and its answers.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use lyceum_core::work::{FinishReason, Sampling};
use lyceum_engine::generate::{GenerationRequest, GenerationResult};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::Fault;
use super::state::State;

type Body = BoxBody<Bytes, io::Error>;

/// A request to complete. Every field must be there: what a worker leaves out, vLLM would fill in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Completion {
    model: String,
    prompt: Vec<i64>,
    n: usize,
    max_tokens: u32,
    temperature: f64,
    top_p: f64,
    top_k: u32,
    min_p: f64,
    repetition_penalty: f64,
    frequency_penalty: f64,
    presence_penalty: f64,
    seed: i64,
    stop: Vec<String>,
    stop_token_ids: Vec<u32>,
    ignore_eos: bool,
    skip_special_tokens: bool,
    logprobs: u32,
    return_token_ids: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Load {
    lora_name: String,
    lora_path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unload {
    lora_name: String,
}

/// An answer that is not 200.
struct Refusal(StatusCode, String);

impl<E: std::fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(StatusCode::BAD_REQUEST, error.to_string())
    }
}

pub(super) async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return Ok(status(StatusCode::BAD_REQUEST, "no body")) };
    let body = body.to_bytes();
    let answered = match (&parts.method, parts.uri.path()) {
        (&Method::GET, "/v1/models") => Ok(json_of(&models(&state))),
        (&Method::POST, "/v1/load_lora_adapter") if state.resolver.is_none() => load(&state, &body).await,
        (&Method::POST, "/v1/unload_lora_adapter") if state.resolver.is_none() => unload(&state, &body),
        (&Method::POST, "/v1/completions") => complete(&state, &body).await,
        // As FastAPI says it.
        _ => return Ok(plain(StatusCode::NOT_FOUND, &json!({"detail": "Not Found"}))),
    };
    Ok(answered.unwrap_or_else(|Refusal(code, message)| status(code, &message)))
}

fn models(state: &State) -> Value {
    let mut cards = vec![json!({
        "id": state.name, "object": "model", "root": state.root, "parent": null, "max_model_len": state.longest,
    })];
    let adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, folder) in adapters.iter() {
        cards.push(json!({"id": name, "object": "model", "root": folder, "parent": state.name, "max_model_len": null}));
    }
    json!({"object": "list", "data": cards})
}

async fn load(state: &State, body: &[u8]) -> Result<Response<Body>, Refusal> {
    let Load { lora_name, lora_path } = serde_json::from_slice(body)?;
    if has(state, &lora_name) {
        return Err(Refusal(
            StatusCode::BAD_REQUEST,
            format!(
                "The lora adapter '{lora_name}' has already been loaded. If you want to load the adapter in place, set \
                 'load_inplace' to True."
            ),
        ));
    }
    if let Err(error) = state.generator.load(&lora_name, Path::new(&lora_path)).await {
        return Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")));
    }
    remember(state, &lora_name, &lora_path);
    Ok(text(format!("Success: LoRA adapter '{lora_name}' added successfully.")))
}

fn remember(state: &State, name: &str, folder: &str) {
    let mut adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
    adapters.insert(name.to_owned(), folder.to_owned());
    state.note(|seen| seen.loads.push(name.to_owned()));
}

fn unload(state: &State, body: &[u8]) -> Result<Response<Body>, Refusal> {
    let Unload { lora_name } = serde_json::from_slice(body)?;
    let mut adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
    if adapters.remove(&lora_name).is_none() {
        let detail = format!("The lora adapter '{lora_name}' cannot be found.");
        return Err(Refusal(StatusCode::NOT_FOUND, detail));
    }
    state.note(|seen| seen.unloads.push(lora_name.clone()));
    Ok(text(format!("Success: LoRA adapter '{lora_name}' removed successfully.")))
}

fn has(state: &State, name: &str) -> bool {
    let adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
    adapters.contains_key(name)
}

async fn complete(state: &State, body: &[u8]) -> Result<Response<Body>, Refusal> {
    let mut running = state.running();
    let fault = state.next_fault();
    match fault {
        Some(Fault::Status(code)) => {
            running.is_answered = true;
            return Err(Refusal(StatusCode::from_u16(code)?, "on demand".to_owned()));
        }
        Some(Fault::Hang) => {
            state.note(|seen| seen.hanging += 1);
            return std::future::pending().await;
        }
        _ => {}
    }
    let answered = completed(state, body, fault).await;
    running.is_answered = true;
    let answer = answered?.to_string();
    if fault == Some(Fault::Cut) {
        let half = Bytes::copy_from_slice(&answer.as_bytes()[..answer.len() / 2]);
        let broken = || io::Error::other("cut on demand");
        let body = StreamBody::new(stream::iter([Ok(Frame::data(half)), Err(broken())]));
        let response = Response::builder().header("Content-Length", answer.len());
        return Ok(response.body(BodyExt::boxed(body))?);
    }
    Ok(text(answer))
}

async fn completed(state: &State, body: &[u8], fault: Option<Fault>) -> Result<Value, Refusal> {
    let asked: Completion = serde_json::from_slice(body)?;
    if asked.temperature == 0.0 && asked.n > 1 {
        return Err("n must be 1 when using greedy sampling".into());
    }
    let is_neutral = [asked.min_p, asked.frequency_penalty, asked.presence_penalty] == [0.0; 3]
        && asked.repetition_penalty == 1.0
        && asked.skip_special_tokens;
    if !(is_neutral && asked.logprobs == 0 && asked.return_token_ids) {
        return Err("this stand-in does not do that".into());
    }
    let mut adapter = (asked.model != state.name).then_some(asked.model.as_str());
    state.note(|seen| seen.bare += usize::from(adapter.is_none()));
    if let Some(name) = adapter {
        let is_there = fault != Some(Fault::Forgotten) && (has(state, name) || resolved(state, name).await?);
        if !is_there {
            let mut adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
            adapters.remove(name);
            let detail = format!("The model `{name}` does not exist.");
            return Err(Refusal(StatusCode::NOT_FOUND, detail));
        }
    }
    let others = match fault {
        Some(Fault::Stale) => {
            let adapters = state.adapters.lock().unwrap_or_else(PoisonError::into_inner);
            adapters.keys().find(|name| **name != asked.model).cloned()
        }
        _ => None,
    };
    if fault == Some(Fault::Stale) {
        adapter = others.as_deref();
    }
    let request = GenerationRequest {
        id: "asked".to_owned(),
        prompt: asked.prompt.clone(),
        adapter: adapter.map(|_| 0),
        n: asked.n,
        sampling: Sampling {
            temperature: asked.temperature,
            top_p: asked.top_p,
            top_k: asked.top_k,
            max_tokens: asked.max_tokens,
            stop: asked.stop.clone(),
            stop_token_ids: asked.stop_token_ids.clone(),
            ignore_eos: asked.ignore_eos,
            vocabulary_mask: None,
        },
        seed: asked.seed.cast_unsigned(),
    };
    let result = state.generator.complete(adapter, request).await.map_err(|error| format!("{error:#}"))?;
    Ok(told(&asked, result, fault))
}

/// Whether the server finds an adapter by itself, as vLLM's `FilesystemResolver` does.
async fn resolved(state: &State, name: &str) -> Result<bool, Refusal> {
    let Some(folder) = state.resolver.as_ref().map(|folder| folder.join(name)) else { return Ok(false) };
    let _one_at_a_time = state.resolving.lock().await;
    if has(state, name) {
        return Ok(true);
    }
    if !of_base(&folder, &state.root) {
        return Ok(false);
    }
    if let Err(error) = state.generator.load(name, &folder).await {
        return Err(Refusal(StatusCode::BAD_REQUEST, format!("{error:#}")));
    }
    remember(state, name, &folder.display().to_string());
    Ok(true)
}

fn of_base(folder: &Path, root: &str) -> bool {
    let config = std::fs::read(folder.join("adapter_config.json")).unwrap_or_default();
    let config: Value = serde_json::from_slice(&config).unwrap_or_default();
    config["base_model_name_or_path"] == *root
}

fn told(asked: &Completion, result: GenerationResult, fault: Option<Fault>) -> Value {
    let choices = result.completions.into_iter().enumerate().map(|(index, completion)| {
        let (mut ids, mut logprobs) = (completion.ids, completion.logprobs);
        let mut prompt = asked.prompt.clone();
        let mut reason = match completion.finish_reason {
            FinishReason::Stop => "stop",
            FinishReason::Length => "length",
        };
        match fault {
            Some(Fault::WrongLengths) => drop(logprobs.pop()),
            Some(Fault::TooLong) => {
                ids.resize(asked.max_tokens as usize + 1, 1);
                logprobs.resize(ids.len(), -1.0);
            }
            Some(Fault::OtherPrompt) => prompt.push(1),
            Some(Fault::NotFinite) => logprobs[0] = -9999.0,
            Some(Fault::ShortLength) => {
                ids.truncate(1);
                logprobs.truncate(1);
                reason = "length";
            }
            _ => {}
        }
        json!({
            "index": index,
            "text": completion.text,
            "logprobs": {"token_logprobs": logprobs, "tokens": [], "top_logprobs": [], "text_offset": []},
            "finish_reason": reason,
            "stop_reason": null,
            "prompt_logprobs": null,
            "prompt_token_ids": prompt,
            "token_ids": ids,
        })
    });
    let mut choices: Vec<Value> = choices.collect();
    if fault == Some(Fault::TooFew) {
        choices.pop();
    }
    let model = match fault {
        Some(Fault::OtherModel) => "another",
        _ => asked.model.as_str(),
    };
    json!({"id": "cmpl-1", "object": "text_completion", "created": 0, "model": model, "choices": choices, "usage": {}})
}

fn json_of(value: &Value) -> Response<Body> {
    text(value.to_string())
}

fn text(text: String) -> Response<Body> {
    Response::new(Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed())
}

fn plain(code: StatusCode, value: &Value) -> Response<Body> {
    let mut response = json_of(value);
    *response.status_mut() = code;
    response
}

/// An error as vLLM writes it.
fn status(code: StatusCode, message: &str) -> Response<Body> {
    plain(code, &json!({"error": {"message": message, "type": "Error", "param": null, "code": code.as_u16()}}))
}
