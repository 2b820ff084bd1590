//! Checks that every row can be asked, before anything is learned.

use serde::{Deserialize, Serialize};

use super::Rows;
use crate::{
    contract::{CostClass, Phase, PlanError},
    id::DatasetId,
    kit::{Pause, Progress, join},
    work::{RolloutPayload, RolloutRequest, Sampling},
};

pub(crate) const FIT: Phase = Phase::new("fit", CostClass::Solve);

/// Rows per item of work.
const ROWS: u32 = 1000;

/// What was found to fit into a context. A run remembers it, so that a fork that asks more is checked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitted {
    pub base_model: String,
    pub dataset: DatasetId,
    /// How many of its rows, from the first.
    pub rows: u32,
    /// The style of the prompts.
    pub prompts: String,
    /// The most tokens of an answer.
    pub max_tokens: u32,
}

impl Rows<'_> {
    /// Waits until a worker has found that every prompt with the longest answer fits into the base's context, unless an
    /// earlier step did. Only the base's tokenizer knows, and only workers have it. A row that is too long ends the run
    /// with the row's place.
    pub fn fit(
        &mut self,
        fitted: &mut Option<Fitted>,
        dataset: DatasetId,
        rows: u32,
        sampling: &Sampling,
    ) -> Progress<()> {
        let wanted = Fitted {
            base_model: self.draft.population(0)?.1.base_model.name.clone(),
            dataset,
            rows,
            prompts: self.style.name().to_owned(),
            max_tokens: sampling.max_tokens,
        };
        if fitted.as_ref() == Some(&wanted) {
            return Ok(());
        }
        self.ask_nothing(dataset, rows, sampling)?;
        *fitted = Some(wanted);
        Ok(())
    }

    /// Lets a worker count the tokens of every prompt, without an answer.
    fn ask_nothing(&mut self, dataset: DatasetId, rows: u32, sampling: &Sampling) -> Progress<()> {
        let chunks = (0..rows.div_ceil(ROWS)).map(|chunk| (chunk, chunk * ROWS..rows.min((chunk + 1) * ROWS)));
        join(chunks, |(chunk, places)| {
            let key = self.draft.key(FIT, chunk);
            if self.draft.view.work.contains_key(&key) {
                return self.draft.view.rollout(&key)?.map(|_| ()).ok_or(Pause::Waiting);
            }
            let places: Vec<(usize, u32)> = places.map(|place| (0, place)).collect();
            let questions = self.read(dataset, &places)?;
            let style = &self.style;
            let requests = questions.iter().map(|question| {
                let row = &question.row;
                let prompt = style.render(&row.row);
                Ok(RolloutRequest {
                    id: format!("row {}", row.place),
                    prompt: prompt.map_err(|error| PlanError::Other(format!("row {}: {error}", row.place)))?,
                    adapter: None,
                    n: 0,
                    seed: 0,
                    max_tokens: None,
                })
            });
            let requests = requests.collect::<Result<Vec<_>, PlanError>>()?;
            self.draft.rollout(&key, |draft| {
                Ok(RolloutPayload {
                    base_model: draft.population(0)?.1.base_model.clone(),
                    compute: draft.run.config.compute,
                    adapters: Vec::new(),
                    sampling: sampling.clone(),
                    requests,
                    embedding: None,
                    keep_tokens: false,
                    compare: None,
                })
            })?;
            Ok(())
        })
        .map(drop)
    }
}
