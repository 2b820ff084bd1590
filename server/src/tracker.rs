//! Curves of a run as the files of other tools: TensorBoard and Weights & Biases.

mod tensorboard;
mod wandb;

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use lyceum_store::export::{Batch, Batches, Column, Score, Table, scores};
use lyceum_store::runs::RunDetail;
use lyceum_store::{Result, steps};
use sqlx::PgPool;
use std::collections::{BTreeMap, VecDeque};

pub(crate) use tensorboard::TensorBoard;
pub(crate) use wandb::{WandbRun, path as wandb_path};

/// The values of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepScalars {
    /// The step, from 0.
    pub(crate) step: i64,
    /// When it ended; for steps that a fork inherited, when the fork was created.
    pub(crate) at: DateTime<Utc>,
    /// The run's values, and those of each member.
    pub(crate) of: Vec<MemberScalars>,
}

/// The values of a member or of the run in a step, by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemberScalars {
    /// The member's name; none for the run.
    pub(crate) member: Option<String>,
    /// Values by name. What was not measured is absent.
    pub(crate) values: Vec<(String, f64)>,
}

/// The metrics and scores of a run, being read.
pub(crate) struct Curves<'a> {
    batches: Batches<'a>,
    metrics: &'a [String],
    ends: BTreeMap<i64, DateTime<Utc>>,
    otherwise: DateTime<Utc>,
    scores: VecDeque<Score>,
    /// Steps that were read whole.
    ready: VecDeque<StepScalars>,
    /// The step whose rows may go on in the next batch.
    open: Option<StepScalars>,
    /// Whether all rows were read.
    read: bool,
}

impl<'a> Curves<'a> {
    pub(crate) async fn of(db: &'a PgPool, run: &'a RunDetail) -> Result<Self> {
        let id = ExecutionId(run.run.id);
        let ends = steps::ends(db, id).await?;
        Ok(Self {
            batches: Batches::of(db, id, Table::Metrics, &run.metrics),
            metrics: &run.metrics,
            ends: ends.into_iter().map(|(step, at)| (i64::from(step), at)).collect(),
            otherwise: run.run.created_at,
            scores: scores(db, id).await?.into(),
            ready: VecDeque::new(),
            open: None,
            read: false,
        })
    }

    /// The next step; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<StepScalars>> {
        while self.ready.is_empty() && !self.read {
            match self.batches.next().await? {
                Some(batch) => self.take(&batch),
                None => {
                    self.read = true;
                    let last = self.open.take();
                    self.close(last);
                    // Scores after the last step that has metrics.
                    while let Some(step) = self.scores.front().map(|score| score.step) {
                        self.close(Some(self.empty(step.into())));
                    }
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    fn take(&mut self, batch: &Batch) {
        let [Column::Int(steps), _, Column::Text(members), values @ ..] = &batch.columns[..] else { return };
        for (row, step) in steps.iter().enumerate() {
            let step = step.unwrap_or(0);
            let mut open = match self.open.take() {
                Some(open) if open.step == step => open,
                before => {
                    self.close(before);
                    self.empty(step)
                }
            };
            let value = |(name, column): (&String, &Column)| match column {
                Column::Float(values) => values[row].map(|value| (name.clone(), value)),
                _ => None,
            };
            open.of.push(MemberScalars {
                member: members[row].clone(),
                values: self.metrics.iter().zip(values).filter_map(value).collect(),
            });
            self.open = Some(open);
        }
    }

    fn empty(&self, step: i64) -> StepScalars {
        // Scores may follow the last step.
        let at = self.ends.range(..=step).next_back();
        StepScalars { step, at: at.map_or(self.otherwise, |(_, at)| *at), of: Vec::new() }
    }

    /// Adds the scores up to this step. Those of steps without metrics come first, as steps of their own.
    fn close(&mut self, step: Option<StepScalars>) {
        let Some(mut step) = step else { return };
        let earlier = |score: &Score| i64::from(score.step) < step.step;
        while let Some(earlier) = self.scores.front().filter(|score| earlier(score)).map(|score| score.step) {
            self.close(Some(self.empty(earlier.into())));
        }
        while let Some(score) = self.scores.pop_front_if(|score| i64::from(score.step) == step.step) {
            let of_member = |scalars: &&mut MemberScalars| scalars.member.as_deref() == Some(&score.member);
            match step.of.iter_mut().find(of_member) {
                Some(scalars) => scalars.values.push((score.name, score.value)),
                None => {
                    step.of.push(MemberScalars { member: Some(score.member), values: vec![(score.name, score.value)] })
                }
            }
        }
        self.ready.push_back(step);
    }
}
