//! `benchmark`: generates one version's answers to a slice of a suite.

use std::sync::Arc;

use lyceum_core::benchmark::{BenchmarkRow, Group, PromptStyle, suite};
use lyceum_core::dataset::problem;
use lyceum_core::seed::derive;
use lyceum_core::work::{
    BenchmarkPayload, BenchmarkResult, BenchmarkSample, Completion, Prompt, RolloutPayload, RolloutRequest, Sampler,
    WorkKind,
};
use lyceum_store::{Remote, Store, datasets};
use serde_json::Value;

use crate::handler::{Context, Handler, HandlerError};
use crate::sampler::Samplers;

/// Generates with the sampler that an item names.
pub struct BenchmarkHandler {
    samplers: Samplers,
    rows: Rows,
}

impl BenchmarkHandler {
    /// Generates with `samplers` for `rows`.
    pub fn new(samplers: impl Into<Samplers>, rows: Rows) -> Self {
        Self { samplers: samplers.into(), rows }
    }
}

impl Handler for BenchmarkHandler {
    const KIND: WorkKind = WorkKind::Benchmark;
    type Payload = BenchmarkPayload;
    type Outcome = BenchmarkResult;

    async fn run(
        self: Arc<Self>,
        payload: BenchmarkPayload,
        context: Context,
    ) -> Result<BenchmarkResult, HandlerError> {
        let style = PromptStyle::shipped(&payload.prompts).map_err(HandlerError::permanent)?;
        let is_ours = suite(&payload.suite).is_ok_and(|suite| suite.group == Group::HeldOut);
        let style = if is_ours { style.whole() } else { style };
        let rows = self.rows.slice(&payload).await?;
        let rollout = rollout(&payload, &style, &rows)?;
        let is_chat = rollout.requests.iter().any(|request| matches!(request.prompt, Prompt::Messages(_)));
        let sampled = self.samplers.sample(Arc::new(rollout), &context).await?;
        let (usage, surprisal) = (sampled.usage(), sampled.surprisal());
        let template = sampled.chat_template_sha256.clone();
        let generated = sampled.into_generated(false);
        let answers = (payload.first..).zip(&rows).zip(generated);
        let samples = answers.flat_map(|((number, row), generated)| {
            let style = &style;
            (0..)
                .zip(generated.completions)
                .map(move |(sample, completion)| read(style, row, number, sample, completion))
        });
        Ok(BenchmarkResult {
            samples: samples.collect(),
            prompts_sha256: style.sha256_for(&rows),
            chat_template_sha256: template.filter(|_| is_chat),
            surprisal,
            usage,
        })
    }

    fn serves(&self, sampler: Sampler) -> bool {
        self.samplers.has(sampler)
    }

    fn loaded_models(&self) -> Vec<String> {
        self.samplers.loaded_models()
    }

    fn served_models(&self) -> Vec<String> {
        self.samplers.served_models()
    }
}

/// Converts the payload to an ordinary generation request. A row's seed depends only on the row, not on how rows are
/// split into items.
fn rollout(
    payload: &BenchmarkPayload,
    style: &PromptStyle,
    rows: &[BenchmarkRow],
) -> Result<RolloutPayload, HandlerError> {
    let requests = (payload.first..).zip(rows).map(|(number, row)| {
        Ok(RolloutRequest {
            adapter: payload.adapter.map(|_| 0),
            ..RolloutRequest::new(
                number.to_string(),
                style.render(row).map_err(HandlerError::permanent)?,
                payload.n,
                derive(payload.seed, "row", u64::from(number)),
            )
        })
    });
    Ok(RolloutPayload {
        base_model: payload.base_model.clone(),
        compute: payload.compute,
        adapters: payload.adapter.into_iter().collect(),
        sampling: payload.sampling.clone(),
        requests: requests.collect::<Result<_, HandlerError>>()?,
        embedding: None,
        keep_tokens: false,
        compare: None,
    })
}

fn read(style: &PromptStyle, row: &BenchmarkRow, number: u32, sample: u32, completion: Completion) -> BenchmarkSample {
    let (solution, reading, reason) = match style.solution(row, &completion.text, completion.finish_reason) {
        Ok(found) => (Some(found.text), found.rule, None),
        Err(reason) => (None, None, Some(reason)),
    };
    BenchmarkSample {
        row: number,
        sample,
        text: completion.text,
        finish_reason: completion.finish_reason,
        tokens: completion.tokens,
        solution,
        reading,
        reason,
    }
}

/// The source of dataset rows.
#[derive(Clone, Debug)]
pub enum Rows {
    /// The database.
    Stored(Store),
    /// A server.
    Remote(Remote),
    /// The rows of the only dataset that is used, from row 0 on.
    Given(Vec<Value>),
}

impl Rows {
    /// The rows of a payload's slice.
    ///
    /// # Errors
    /// Rows that are missing or malformed.
    pub async fn slice(&self, payload: &BenchmarkPayload) -> Result<Vec<BenchmarkRow>, HandlerError> {
        let &BenchmarkPayload { dataset, first, rows, .. } = payload;
        let values = match self {
            Self::Stored(store) => datasets::slice(store.pool(), dataset, first, rows).await?,
            Self::Remote(server) => datasets::remote_slice(server, dataset, first, rows).await?,
            Self::Given(all) => all.iter().skip(first as usize).take(rows as usize).cloned().collect(),
        };
        if values.len() != rows as usize {
            return Err(HandlerError::permanent(format!(
                "dataset {dataset} has {} rows from row {first} on, and {rows} were requested",
                values.len(),
            )));
        }
        let rows = (first..).zip(&values).map(|(place, row)| {
            problem(place as usize, row)
                .map_err(|error| HandlerError::permanent(format!("row {place} of dataset {dataset}: {error}")))
        });
        rows.collect()
    }
}
