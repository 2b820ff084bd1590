//! Log-probabilities of given sequences under the base or under members of a population.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::{Population, RowGroups};

/// Rows of logits that are held at a time.
const LOGIT_ROWS: i64 = 1024;

/// A sequence to score.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRequest {
    /// Token ids; at least one.
    pub ids: Vec<i64>,
    /// Index of the adapter in the population; `None` is the bare base.
    pub adapter: Option<usize>,
}

/// The scores of one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// One log-probability for each id after the first.
    pub logprobs: Vec<f32>,
    /// Logits after the last id, if asked for.
    pub last_logits: Option<Vec<f32>>,
}

/// Scores sequences in one padded batch, grouped by member.
pub fn score(
    model: &Model,
    population: Option<&Population>,
    requests: &[ScoreRequest],
    last_logits: bool,
) -> Result<Vec<Score>> {
    let _no_grad = tch::no_grad_guard();
    let device = model.placement.device;
    for request in requests {
        check_ids(model, &request.ids)?;
    }
    let Some(length) = requests.iter().map(|request| request.ids.len()).max() else {
        return Ok(Vec::new());
    };
    let mut padded = vec![0; requests.len() * length];
    for (row, request) in padded.chunks_mut(length).zip(requests) {
        row[..request.ids.len()].copy_from_slice(&request.ids);
    }
    let ids = Tensor::f_from_slice(&padded)?
        .f_view([requests.len() as i64, length as i64])?
        .f_to_device(device)?;
    let members: Vec<_> = requests.iter().map(|request| request.adapter).collect();
    let groups = RowGroups::new(
        &members,
        length as i64,
        population.map_or(0, Population::members),
        device,
    )?;
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
        let last_logits = if last_logits {
            Some(to_vec(&model.logits(&hidden.f_get(count - 1)?)?)?)
        } else {
            None
        };
        scores.push(Score {
            logprobs: to_vec(&logprobs)?,
            last_logits,
        });
    }
    Ok(scores)
}

fn check_ids(model: &Model, ids: &[i64]) -> Result<()> {
    let vocabulary = model.config.vocab_size;
    if ids.is_empty() {
        return Err(EngineError::population(
            "a sequence to score has no ids; it needs at least one",
        ));
    }
    if let Some(id) = ids.iter().find(|&&id| id < 0 || id >= vocabulary) {
        return Err(EngineError::population(format!(
            "id {id} is outside the vocabulary of {vocabulary}"
        )));
    }
    Ok(())
}

fn to_vec(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(Vec::try_from(
        &tensor.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?,
    )?)
}
