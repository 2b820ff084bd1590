//! A request to a server, and what must hold of its answer.

use std::path::PathBuf;
use std::time::Duration;

use lyceum_core::work::{FinishReason, RolloutPayload, RolloutRequest, Sampling};
use tokio::time::{Instant, sleep};

use super::base::Base;
use crate::handler::HandlerError;
use crate::sampler::{Asked, SampledCompletion};

/// A prompt and how to complete it, in a server's terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) id: String,
    pub(super) prompt: Vec<i64>,
    /// Index into the item's adapters.
    pub(super) adapter: Option<usize>,
    /// Completions; with 0 the request is only checked.
    pub(super) n: usize,
    pub(super) max_tokens: u32,
    pub(super) temperature: f64,
    pub(super) top_p: f64,
    pub(super) top_k: u32,
    pub(super) seed: u64,
    /// Texts that end a completion.
    pub(super) stop: Vec<String>,
    /// Ids that end a completion, the model's own included.
    pub(super) stop_ids: Vec<i64>,
    pub(super) ignore_eos: bool,
}

/// A completion as a server tells it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    pub(super) ids: Vec<i64>,
    pub(super) logprobs: Vec<f32>,
    pub(super) finish_reason: FinishReason,
}

impl Ask {
    pub(super) fn new(payload: &RolloutPayload, request: &RolloutRequest, base: &Base) -> Result<Self, HandlerError> {
        let Sampling { temperature, top_p, top_k, stop, stop_token_ids, ignore_eos, .. } = &payload.sampling;
        let refuse = |reason: String| Err(HandlerError::Permanent(format!("request `{}`: {reason}", request.id)));
        let mut stop_ids: Vec<i64> = stop_token_ids.iter().map(|id| i64::from(*id)).collect();
        if !ignore_eos {
            stop_ids.extend(&base.config.eos_token_ids);
        }
        let (vocabulary, longest) = (base.config.vocab_size, base.config.max_position_embeddings);
        let Asked { prompt, n, max_tokens } = Asked::of(payload, request, base.texts.ids(&request.prompt)?, longest);
        let ask = Self {
            id: request.id.clone(),
            prompt,
            adapter: request.adapter.map(|adapter| adapter as usize),
            n,
            max_tokens,
            temperature: *temperature,
            top_p: *top_p,
            top_k: *top_k,
            seed: request.seed,
            stop: stop.clone(),
            stop_ids,
            ignore_eos: *ignore_eos,
        };
        if ask.prompt.is_empty() {
            return refuse("the prompt has no tokens; at least one is needed".to_owned());
        }
        if let Some(id) = ask.prompt.iter().find(|id| !(0..vocabulary).contains(*id)) {
            return refuse(format!("prompt id {id} is outside the vocabulary of {vocabulary}"));
        }
        if ask.max_tokens == 0 {
            return refuse("`max_tokens` is 0; it must be positive".to_owned());
        }
        if ask.tokens() as i64 > longest {
            return refuse(format!(
                "{} prompt tokens and `max_tokens` {} add up to {}; the model's longest sequence is {longest}",
                ask.prompt.len(),
                ask.max_tokens,
                ask.tokens(),
            ));
        }
        if let Some(place) = ask.adapter.filter(|place| *place >= payload.adapters.len()) {
            let count = payload.adapters.len();
            return refuse(format!("adapter {place} does not exist; there are {count}"));
        }
        if stop.iter().any(String::is_empty) {
            return refuse("a stop string is empty".to_owned());
        }
        if !stop.is_empty() && base.texts.tokenizer().is_none() {
            return refuse("stop strings need the model's tokenizer.json".to_owned());
        }
        Ok(ask)
    }

    /// Tokens of the prompt and of the longest possible completion.
    pub(super) fn tokens(&self) -> usize {
        self.prompt.len() + self.max_tokens as usize
    }

    /// Whether all completions are the same, so that one is enough.
    pub(super) fn is_greedy(&self) -> bool {
        self.temperature == 0.0
    }

    /// The completions that a server's choices are.
    ///
    /// # Errors
    /// They are not what was asked for.
    pub(super) fn completions(&self, choices: Vec<Choice>, base: &Base) -> Result<Vec<SampledCompletion>, String> {
        let completions = choices.into_iter().map(|choice| self.completion(choice, base));
        let mut completions = completions.collect::<Result<Vec<_>, _>>()?;
        if self.is_greedy()
            && let Some(only) = completions.first().cloned()
        {
            completions.resize(self.n, only);
        }
        Ok(completions)
    }

    fn completion(&self, choice: Choice, base: &Base) -> Result<SampledCompletion, String> {
        let Choice { ids, logprobs, finish_reason } = choice;
        if ids.is_empty() || ids.len() > self.max_tokens as usize {
            return Err(format!("{} tokens, and 1 to {} were asked for", ids.len(), self.max_tokens));
        }
        if logprobs.len() != ids.len() {
            return Err(format!("{} log-probabilities of {} tokens", logprobs.len(), ids.len()));
        }
        if let Some(id) = ids.iter().find(|id| !(0..base.config.vocab_size).contains(*id)) {
            let vocabulary = base.config.vocab_size;
            return Err(format!("token {id}, which is outside of the vocabulary of {vocabulary}"));
        }
        // A little above 0 by rounding; servers write -9999 for minus infinity.
        if let Some(logprob) = logprobs.iter().find(|value| !(-9998.0..=1e-3).contains(*value)) {
            return Err(format!("a log-probability of {logprob}"));
        }
        let text = match base.texts.tokenizer() {
            Some(tokenizer) => Some(tokenizer.decode_until(&ids, &self.stop).map_err(|error| error.to_string())?),
            None => None,
        };
        let is_stopped = ids.last().is_some_and(|last| self.stop_ids.contains(last))
            || match (&text, base.texts.tokenizer(), self.stop.is_empty()) {
                (Some(text), Some(tokenizer), false) => {
                    tokenizer.decode(&ids).map_err(|error| error.to_string())?.len() != text.len()
                }
                _ => false,
            };
        let is_full = ids.len() == self.max_tokens as usize;
        match finish_reason {
            FinishReason::Stop if !is_stopped => {
                return Err("the end `stop`, without any stop in the tokens".to_owned());
            }
            FinishReason::Length if !is_full => {
                return Err(format!(
                    "the end `length` after {} tokens, and {} were asked for",
                    ids.len(),
                    self.max_tokens
                ));
            }
            _ => {}
        }
        let is_plain = self.temperature == 1.0 && self.top_p == 1.0 && self.top_k == 0;
        let sampling_logprobs = match self.is_greedy() {
            true => Some(vec![0.0; ids.len()]),
            false => is_plain.then(|| logprobs.clone()),
        };
        Ok(SampledCompletion {
            ids,
            text: text.unwrap_or_default(),
            finish_reason,
            logprobs,
            sampling_logprobs,
            entropy: None,
        })
    }
}

/// The first wait and the longest.
const WAIT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Waits that double, until a time is over.
pub(super) struct Patience {
    until: Instant,
    wait: Duration,
}

impl Patience {
    pub(super) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, wait: WAIT.0 }
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The time is over.
    pub(super) async fn wait(&mut self, trouble: &str) -> Result<(), HandlerError> {
        if Instant::now() + self.wait > self.until {
            return Err(HandlerError::Transient(trouble.to_owned()));
        }
        tracing::debug!("{trouble}; trying again in {:?}", self.wait);
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT.1);
        Ok(())
    }
}

/// Settings of served samplers.
#[derive(Clone, Debug)]
pub struct ServedSettings {
    /// Addresses of the servers, such as `http://127.0.0.1:8000`.
    pub servers: Vec<String>,
    /// What they expect as `--api-key`.
    pub key: Option<String>,
    /// The folder of adapters, at the same path for this worker and the servers.
    pub adapters: PathBuf,
    /// Whether servers find adapters in the folder by themselves (vLLM's `lora_filesystem_resolver`), so that they need not
    /// be told one by one. Required if one address stands for several servers.
    pub resolver: bool,
    /// Whether the base model is asked in the name of an adapter of zeros. Required where a server applies some adapter to
    /// requests without one, as vLLM does on a CPU.
    pub base_as_adapter: bool,
    /// Adapters to keep in the folder and on the servers, in addition to those in use.
    pub kept: usize,
    /// Requests on their way at once.
    pub in_flight: usize,
    /// How long to try again while servers do not answer.
    pub patience: Duration,
    /// The longest time for an answer.
    pub timeout: Duration,
}

impl Default for ServedSettings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            key: None,
            adapters: PathBuf::new(),
            resolver: false,
            base_as_adapter: false,
            kept: 64,
            in_flight: 256,
            patience: Duration::from_secs(600),
            timeout: Duration::from_secs(1800),
        }
    }
}
