//! Generation and embedding.

use serde::{Deserialize, Serialize};

use super::{AdapterRef, BaseModel, Compute, Observer, Sampler};
use crate::artifact::Digest;
use crate::diversity::Epiplexity;

/// A batch of prompts for any members of populations with the same base, generated together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutPayload {
    /// The shared frozen base.
    pub base_model: BaseModel,
    #[serde(default)]
    pub compute: Compute,
    /// The adapter versions that requests refer to by index.
    pub adapters: Vec<AdapterRef>,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// The prompts to complete.
    #[serde(default)]
    pub requests: Vec<RolloutRequest>,
    /// The texts to embed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingBatch>,
    /// Whether to keep token ids and log-probabilities as an artifact; an update needs them.
    #[serde(default)]
    pub keep_tokens: bool,
    /// The tokens of an earlier rollout of the same requests, to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Digest>,
}

impl RolloutPayload {
    /// Without adapters, requests or texts; it keeps no tokens.
    pub fn new(base_model: BaseModel, compute: Compute, sampling: Sampling) -> Self {
        let (adapters, requests) = (Vec::new(), Vec::new());
        Self { base_model, compute, adapters, sampling, requests, embedding: None, keep_tokens: false, compare: None }
    }

    /// What generates its tokens. The engine embeds texts, so it also takes an item that does both.
    pub fn sampler(&self) -> Sampler {
        match self.embedding {
            None => self.compute.sampler,
            Some(_) => Sampler::Engine,
        }
    }

    /// The token limit of one of its requests.
    pub fn max_tokens(&self, request: &RolloutRequest) -> u32 {
        let limit = self.sampling.max_tokens;
        request.max_tokens.map_or(limit, |own| own.min(limit))
    }
}

/// The highest softmax temperature.
pub const MAX_TEMPERATURE: f64 = 100.0;

/// How tokens are sampled. Names and defaults are the usual ones (vLLM, transformers).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// Softmax temperature; 0 always takes the most likely token.
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: f64,
    /// Samples from the smallest set of most likely tokens whose total probability reaches this; 1 keeps all.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: f64,
    /// Samples only from this many most likely tokens; 0 keeps all.
    pub top_k: u32,
    /// Maximum tokens per completion.
    #[schemars(range(min = 1))]
    pub max_tokens: u32,
    /// Texts that end a completion and are removed from it.
    pub stop: Vec<String>,
    /// Token ids that end a completion, in addition to the model's own end of text.
    pub stop_token_ids: Vec<u32>,
    /// Whether to continue past the model's own end of text. For benches; configs cannot set it.
    #[serde(skip_serializing_if = "is_false")]
    #[schemars(skip)]
    pub ignore_eos: bool,
    /// Vocabulary dropout (arXiv 2604.03472, Eq. 3): the mask of this batch. Configs cannot set it, since a mask must be
    /// drawn anew for every batch; recipes with `vocabulary_dropout` do so.
    pub vocabulary_mask: Option<VocabularyMask>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            max_tokens: 512,
            stop: Vec::new(),
            stop_token_ids: Vec::new(),
            ignore_eos: false,
            vocabulary_mask: None,
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A random mask over the vocabulary, given by its seed and rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VocabularyMask {
    /// Seed of the Bernoulli draws.
    pub seed: u64,
    /// Probability of keeping a token (the paper's α).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub keep_rate: f64,
    /// Ids of tokens that are always kept. The model's end of text and the batch's stop ids are kept in any case.
    #[serde(default)]
    pub protected: Vec<u32>,
    /// Texts whose tokens are always kept, such as tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_texts: Vec<String>,
}

/// One prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutRequest {
    /// The name of the request within its item.
    pub id: String,
    pub prompt: Prompt,
    /// Index into `adapters`; `None` for the base without an adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<u32>,
    /// Number of samples to draw. With 0 the request is only checked: its prompt and the longest completion must fit into
    /// the model's context.
    pub n: u32,
    /// Seed of the samples; sample `i` of the request uses its `i`th stream.
    pub seed: u64,
    /// Its own token limit, below the batch's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Whether a prompt that leaves no room for the longest completion is left without one; else it fails the item.
    #[serde(default, skip_serializing_if = "is_false")]
    pub if_it_fits: bool,
}

impl RolloutRequest {
    /// A request to the base, with the batch's token limit.
    pub fn new(id: String, prompt: Prompt, n: u32, seed: u64) -> Self {
        Self { id, prompt, adapter: None, n, seed, max_tokens: None, if_it_fits: false }
    }
}

/// The input of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// Text, tokenised unchanged.
    Text(String),
    /// A conversation, rendered by the model's chat template.
    Messages(Vec<Message>),
    /// Token ids.
    Ids(Vec<u32>),
}

impl Prompt {
    /// The text that people are shown of it: the messages one after the other; empty for token ids.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Messages(messages) => {
                let contents: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
                contents.join("\n\n")
            }
            Self::Ids(_) => String::new(),
        }
    }
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

/// Texts to embed with the base without an adapter, as mean-pooled, normalised hidden states, and embeddings to compare them with.
/// Vectors stay in artifacts: a recipe only uses their similarities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingBatch {
    pub texts: Vec<String>,
    /// Earlier embeddings to compare with, each with the rows to use (GASP compares only with accepted ones).
    #[serde(default)]
    pub against: Vec<(Digest, Vec<u32>)>,
    /// Compare the vectors minus a fixed mean, scaled to length 1 again. The mean is that of all rows of the first of
    /// `against`, or of the texts themselves without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub centred: bool,
    /// Measure how much the texts differ, instead of listing the similarities of every pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<DiversityRequest>,
}

/// How the diversity of texts is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiversityRequest {
    /// A text is new if its cosine distance to every earlier text is larger than this.
    pub novelty_distance: f64,
    /// The most texts of the cumulative Vendi score; more are sampled down to this.
    pub cumulative: u32,
    /// Seed of that sample, and of the observer.
    pub seed: u64,
    /// Measure the texts' epiplexity with this observer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<Observer>,
}

/// How much texts differ. Scores over embeddings come twice: of the vectors as they are, and of the vectors minus a fixed
/// mean, scaled to length 1 again. That mean is the one of the earliest texts: the first of `against`, or the texts
/// themselves without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diversity {
    /// Mean BLEU-4 of each text against all others; `None` for fewer than two.
    pub self_bleu: Option<f64>,
    /// The Vendi score (arXiv 2210.02410): the effective number of different texts.
    pub vendi: f64,
    /// The same, centred.
    pub vendi_centred: f64,
    /// The Vendi score of all texts so far, the earlier ones included.
    pub cumulative_vendi: f64,
    /// The same, centred.
    pub cumulative_vendi_centred: f64,
    /// Share of the texts that are new; `None` without earlier texts.
    pub novelty: Option<f64>,
    /// The same, centred.
    pub novelty_centred: Option<f64>,
    /// Different tokens in all texts.
    pub unique_tokens: u64,
    /// Different numbers in all texts, as written.
    pub unique_numbers: u64,
    /// Mean of the different numbers in a text.
    pub numbers: f64,
    /// Mean words of a text.
    pub words: f64,
    /// Mean tokens of a text.
    pub tokens: f64,
    /// Their epiplexity, if it was to be measured; `None` for fewer than two texts, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epiplexity: Option<Epiplexity>,
}

/// The similarities of embedded texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedded {
    /// The vectors, one row per text, `[texts, hidden_size]` in fp32.
    pub vectors: Digest,
    /// For each text, the largest cosine similarity to any row it was compared with; `None` if there were none.
    pub nearest: Vec<Option<f32>>,
    /// For each text, the place of that row among all rows it was compared with, in order. Empty if diversity was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nearest_places: Vec<Option<u32>>,
    /// For each text, its mean similarity to the rows used of each of `against`; `None` where none is used. Empty if
    /// diversity was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Vec<Option<f32>>>,
    /// For each text, its cosine similarities to the texts before it, which is all that decisions in index order need.
    /// Empty if diversity was measured.
    pub among: Vec<Vec<f32>>,
    /// How much the texts differ, if it was to be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutResult {
    /// One entry per request, in the order of the requests.
    pub generated: Vec<Generated>,
    /// Similarities of the embedded texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<Embedded>,
    /// Token ids and log-probabilities of everything generated, if they were to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Digest>,
    /// For each request and sample, the difference from the earlier rollout, if there is one to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Vec<Vec<TokenDifference>>>,
    /// Its cost.
    pub usage: RolloutUsage,
}

/// The difference between two samples of the same request, token by token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenDifference {
    /// The index of the first token that differs, or at which only one of them has ended; `None` if all are equal.
    pub first_token: Option<u32>,
    /// The largest absolute difference between the log-probabilities of the tokens before it, in nats.
    pub logprob: f32,
}

/// The samples of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// The request's id.
    pub id: String,
    /// Its samples, by index.
    pub completions: Vec<Completion>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text, without prompt and stop.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its length in tokens.
    pub tokens: u32,
    /// Mean entropy of the unmasked model over its tokens, in nats; `None` if a server generated them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f32>,
    /// With a vocabulary mask: the mean over its tokens of their log-probability under the distribution that they were
    /// drawn from, minus that under the unmasked model, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask_mismatch: Option<f32>,
}

/// Why a completion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FinishReason {
    /// End of text, or a stop text.
    Stop,
    /// The token limit.
    Length,
}

crate::named!(FinishReason, "a reason to finish");

/// The cost of a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RolloutUsage {
    /// Tokens of prompts, each counted once whatever the number of samples.
    pub prompt_tokens: u64,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
    /// Number of times a batch was halved because memory ran out; if not 0, the run is not bit-reproducible.
    #[serde(default)]
    pub halvings: u32,
    /// What generated the tokens; if a server, the run is not bit-reproducible.
    #[serde(default, skip_serializing_if = "Sampler::is_engine")]
    pub sampler: Sampler,
}
