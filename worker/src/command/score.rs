//! `score`: computes log-probabilities of given sequences.

use std::path::PathBuf;

use clap::Args;
use lyceum_engine::score::{ScoreOptions, ScoreRequest, score_observed};
use lyceum_worker::lines::{read_lines, write_lines};
use serde::{Deserialize, Serialize};

use super::loading::ModelArgs;

/// Score sequences of token ids: one JSON object per line in, one per line out, in the same order.
///
/// A request: {"id": "a", "ids": [1, 2, 3], "adapter": 0}; without `adapter` the base is used without one. A result: {"id":
/// "a", "logprobs": [..]}, one log-probability per id after the first.
#[derive(Debug, Args)]
pub(crate) struct Score {
    #[command(flatten)]
    model: ModelArgs,
    /// File of requests.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// File for the results.
    #[arg(long = "out", value_name = "FILE")]
    output: PathBuf,
    /// Add `last_logits`, the logits after the last id, to each result.
    #[arg(long)]
    last_logits: bool,
    /// Tokens per forward pass, including padding.
    #[arg(long, default_value_t = 16_384)]
    tokens_per_pass: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    ids: Vec<i64>,
    adapter: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Answer {
    id: String,
    logprobs: Vec<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_logits: Option<Vec<f32>>,
}

impl Score {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let requests: Vec<Request> = read_lines(&self.input)?;
        let loaded = self.model.load()?;
        let (ids, sequences): (Vec<String>, Vec<_>) =
            requests.into_iter().map(|Request { id, ids, adapter }| (id, ScoreRequest { ids, adapter })).unzip();
        let options = ScoreOptions { tokens_per_pass: self.tokens_per_pass, last_logits: self.last_logits };
        let population = loaded.population.as_ref();
        let mut halved = |tokens| eprintln!("out of memory: continuing with at most {tokens} tokens at a time");
        let id = |index: usize| ids[index].clone();
        let scores = score_observed(&loaded.model, population, &sequences, options, &id, &mut halved)?;
        let results: Vec<Answer> = ids
            .into_iter()
            .zip(scores)
            .map(|(id, score)| Answer { id, logprobs: score.logprobs, last_logits: score.last_logits })
            .collect();
        write_lines(&self.output, &results)
    }
}
