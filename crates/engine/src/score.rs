//! Log-probabilities of given sequences under the base or under members of a population.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::passes::{Padded, check_ids, in_passes};
use crate::population::{Population, RowGroups};

/// Rows of logits held at a time.
const LOGIT_ROWS: i64 = 1024;

/// A sequence to score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRequest {
    /// Token ids; at least one.
    pub ids: Vec<i64>,
    /// Index of the adapter in the population; `None` is the bare base.
    pub adapter: Option<usize>,
}

impl AsRef<[i64]> for ScoreRequest {
    fn as_ref(&self) -> &[i64] {
        &self.ids
    }
}

impl ScoreRequest {
    /// The reason to refuse the request, if there is one.
    fn check(&self, model: &Model, members: usize) -> std::result::Result<(), String> {
        check_ids(&self.ids, &model.config)?;
        let (count, longest) = (self.ids.len(), model.config.max_position_embeddings);
        if count as i64 > longest {
            return Err(format!("{count} ids; the model's longest sequence is {longest}"));
        }
        match self.adapter {
            Some(adapter) if adapter >= members => {
                Err(format!("adapter {adapter} does not exist; there are {members}"))
            }
            _ => Ok(()),
        }
    }
}

/// The scores of one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// One log-probability for each id after the first.
    pub logprobs: Vec<f32>,
    /// Logits after the last id, if asked for.
    pub last_logits: Option<Vec<f32>>,
}

impl Score {
    /// Products of finite weights may overflow.
    fn check(&self, id: impl Fn() -> String) -> Result<()> {
        let not_finite = |numbers: &[f32]| numbers.iter().position(|number| !number.is_finite());
        let what = if let Some(at) = not_finite(&self.logprobs) {
            format!("log-probability {at} of request `{}`", id())
        } else if self.last_logits.as_deref().is_some_and(|logits| not_finite(logits).is_some()) {
            format!("a logit after the last id of request `{}`", id())
        } else {
            return Ok(());
        };
        Err(EngineError::NonFinite { what })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreOptions {
    /// Tokens per forward pass, padding included.
    pub tokens_per_pass: usize,
    /// Whether to return the logits after the last id, too.
    pub last_logits: bool,
}

impl Default for ScoreOptions {
    fn default() -> Self {
        Self { tokens_per_pass: 16_384, last_logits: false }
    }
}

/// Scores sequences in padded passes, each grouped by member. The passes are halved when memory runs out. Errors name a
/// request by its index.
pub fn score(
    model: &Model,
    population: Option<&Population>,
    requests: &[ScoreRequest],
    options: ScoreOptions,
) -> Result<Vec<Score>> {
    score_observed(model, population, requests, options, &|index| index.to_string(), &mut |_| ())
}

/// Like [`score`]; `id` gives the name of a request in errors, and `halved` is called with the new number of tokens per
/// pass each time memory runs out.
pub fn score_observed(
    model: &Model,
    population: Option<&Population>,
    requests: &[ScoreRequest],
    options: ScoreOptions,
    id: &dyn Fn(usize) -> String,
    halved: &mut dyn FnMut(usize),
) -> Result<Vec<Score>> {
    let _no_grad = tch::no_grad_guard();
    let members = population.map_or(0, Population::members);
    for (index, request) in requests.iter().enumerate() {
        request.check(model, members).map_err(|reason| EngineError::request(id(index), reason))?;
    }
    let lengths: Vec<usize> = requests.iter().map(|request| request.ids.len()).collect();
    in_passes(
        (&lengths, options.tokens_per_pass),
        model.placement.device,
        &|index| format!("request `{}`", id(index)),
        halved,
        |range| {
            let scores = pass(model, population, &requests[range.clone()], options.last_logits)?;
            for (index, score) in range.zip(&scores) {
                score.check(|| id(index))?;
            }
            Ok(scores)
        },
    )
}

fn pass(
    model: &Model,
    population: Option<&Population>,
    requests: &[ScoreRequest],
    last_logits: bool,
) -> Result<Vec<Score>> {
    let device = model.placement.device;
    let Padded { ids, length, .. } = Padded::new(requests, device)?;
    let members: Vec<_> = requests.iter().map(|request| request.adapter).collect();
    let groups = RowGroups::new(&members, length, population.map_or(0, Population::members), device)?;
    let adapters = match (population, &groups) {
        (Some(population), Some(groups)) => Some((model.prepare_adapters(population, groups)?, groups)),
        _ => None,
    };
    let adapters = adapters.as_ref().map(|(layers, groups)| (layers.as_slice(), *groups));
    let hidden = model.hidden_states(&ids, adapters)?;

    let mut scores = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let count = request.ids.len() as i64;
        let hidden = hidden.f_get(index as i64)?;
        let targets = ids.f_get(index as i64)?.f_narrow(0, 1, count - 1)?;
        let logprobs = model.token_logprobs(&hidden.f_narrow(0, 0, count - 1)?, &targets, LOGIT_ROWS)?;
        let last_logits = if last_logits { Some(to_vec(&model.logits(&hidden.f_get(count - 1)?)?)?) } else { None };
        scores.push(Score { logprobs: to_vec(&logprobs)?, last_logits });
    }
    Ok(scores)
}

fn to_vec(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(Vec::try_from(&tensor.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?)?)
}
