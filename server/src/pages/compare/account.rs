//! The cost of a run per adapter, the basis for comparing arms (PopuLoRA, appendix 7).

use lyceum_core::{compute::compute_account, id::ExecutionId, recipe::Expense};
use lyceum_store::{members, metrics, runs::RunDetail, steps};
use serde::Serialize;

use crate::{api_error::ApiError, lab::Lab};

/// The account of the steps that a run did itself: a fork leaves out those that it took over. Values per adapter are divided
/// by the number of living adapters.
#[derive(Debug, Serialize)]
pub(crate) struct Account {
    /// Living adapters.
    pub(crate) adapters: i64,
    /// Finished steps.
    pub(crate) steps: usize,
    /// Proposals and attempts per adapter.
    pub(crate) rollouts: Option<f64>,
    /// Tokens generated per adapter.
    pub(crate) completion_tokens: Option<f64>,
    /// Tokens learned from per adapter.
    pub(crate) learned_tokens: Option<f64>,
    /// Updates per adapter.
    pub(crate) updates: Option<f64>,
    /// Median wall-clock time of a step, in seconds, without the first five.
    pub(crate) median_step_seconds: Option<f64>,
    pub(crate) adapter_steps_per_hour: Option<f64>,
}

impl Account {
    /// The account of `run`.
    pub(crate) async fn of(lab: &Lab, run: &RunDetail) -> Result<Self, ApiError> {
        let (db, id) = (lab.store.pool(), ExecutionId(run.run.id));
        let (adapters, _) = members::lives(db, id).await?;
        let summed = [
            Expense::Attempts,
            Expense::Proposals,
            Expense::CompletionTokens,
            Expense::LearnedTokens,
            Expense::Updates,
        ];
        let places = summed.map(|expense| lab.registry.expense_in(expense, &run.metrics));
        let recorded: Vec<usize> = places.iter().flatten().copied().collect();
        let first = run.run.forked_at_step.unwrap_or_default().max(0).cast_unsigned();
        let mut sums = metrics::sums(db, id, &recorded, first).await?.into_iter();
        let by_adapter = places.map(|place| {
            let sum = place.and_then(|_| sums.next().flatten())?;
            (adapters > 0).then(|| sum / adapters as f64)
        });
        let [attempts, proposals, completion_tokens, learned_tokens, updates] = by_adapter;
        let seconds = steps::seconds(db, id).await?;
        let steps = u32::try_from(run.run.steps).unwrap_or_default();
        let account = compute_account(&seconds, u32::try_from(adapters).unwrap_or_default(), steps);
        Ok(Self {
            adapters,
            steps: seconds.len(),
            rollouts: attempts
                .zip(proposals)
                .map(|(attempts, proposals)| attempts + proposals),
            completion_tokens,
            learned_tokens,
            updates,
            median_step_seconds: account.as_ref().map(|account| account.median_step_seconds),
            adapter_steps_per_hour: account.map(|account| account.adapter_steps_per_hour),
        })
    }
}
