//! Products of a batch's rows with their members' matrices.

use tch::{Device, Kind, Tensor};

use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::Selection;
use crate::product::{add_product, linear, product, product_in_fp32, write_product};

/// The rows of a batch by member; each member's rows are consecutive.
#[derive(Debug)]
pub(super) struct MemberRows {
    /// Stack indices of the members that have rows, in order.
    members: Vec<i64>,
    selection: Selection,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// Every member has this many rows, so one batched product serves them all.
    Even(i64),
    /// First row and number of rows of each member: one product for each.
    Ragged(Vec<(i64, i64)>),
}

impl MemberRows {
    /// `lanes` are the members' stack indices and row counts; `population` is the number of members in the stack.
    pub(super) fn new(lanes: &[(usize, usize)], population: usize, device: Device) -> Result<Self> {
        let members: Vec<i64> = lanes.iter().map(|&(member, _)| member as i64).collect();
        let selection = Selection::new(&members, population, device)?;
        let first = lanes.first().map_or(0, |&(_, rows)| rows);
        let layout = if lanes.iter().all(|&(_, rows)| rows == first) {
            Layout::Even(first as i64)
        } else {
            let mut start = 0;
            let ranges = lanes.iter().map(|&(_, rows)| {
                let range = (start, rows as i64);
                start += rows as i64;
                range
            });
            Layout::Ragged(ranges.collect())
        };
        Ok(Self { members, selection, layout })
    }

    /// Stack indices of the members that have rows, in order.
    pub(super) fn members(&self) -> &[i64] {
        &self.members
    }

    /// The smallest number of rows of any member.
    pub(super) fn fewest(&self) -> i64 {
        match &self.layout {
            Layout::Even(count) => *count,
            Layout::Ragged(ranges) => ranges.iter().map(|&(_, count)| count).min().unwrap_or(0),
        }
    }

    /// The stack's entries for the members that have rows, in their order.
    pub(super) fn select(&self, stacked: &Tensor) -> Result<Tensor> {
        self.selection.of(stacked)
    }

    /// The product of each row of `rows` `[T, k]` with its member's matrix in `matrices` `[members with rows, k, n]`.
    pub(super) fn product(&self, rows: &Tensor, matrices: &Tensor) -> Result<Tensor> {
        let width = matrices.size()[2];
        match &self.layout {
            Layout::Even(_) if self.members.len() == 1 => product(rows, &matrices.f_get(0)?),
            Layout::Even(count) => Ok(product(&self.grouped(rows, *count)?, matrices)?.f_view([-1, width])?),
            Layout::Ragged(ranges) => {
                let out = Tensor::f_empty([rows.size()[0], width], (rows.kind(), rows.device()))?;
                for (group, &(start, count)) in ranges.iter().enumerate() {
                    let (part, mut out) = (rows.f_narrow(0, start, count)?, out.f_narrow(0, start, count)?);
                    write_product(&part, &matrices.f_get(group as i64)?, &mut out)?;
                }
                Ok(out)
            }
        }
    }

    /// Applies each member's weight in `weights` `[members with rows, out, in]` to its rows of `x` `[T, in]`, and adds
    /// the shared bias.
    pub(super) fn linear(&self, x: &Tensor, weights: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        if self.members.len() == 1 {
            return linear(x, &weights.f_get(0)?, bias);
        }
        let mut outputs = self.product(x, &weights.f_transpose(1, 2)?)?;
        if let Some(bias) = bias {
            outputs = outputs.f_add_(bias)?;
        }
        Ok(outputs)
    }

    /// Writes to each row of `out` `[T, n]` the product of the same row of `rows` `[T, k]` with its member's matrix in
    /// `matrices` `[members with rows, k, n]`.
    pub(super) fn write_product(&self, out: &Tensor, rows: &Tensor, matrices: &Tensor) -> Result<()> {
        match &self.layout {
            Layout::Even(_) if self.members.len() == 1 => {
                write_product(rows, &matrices.f_get(0)?, &mut out.shallow_clone())
            }
            Layout::Even(count) => {
                write_product(&self.grouped(rows, *count)?, matrices, &mut self.grouped(out, *count)?)
            }
            Layout::Ragged(_) => Ok(out.shallow_clone().f_copy_(&self.product(rows, matrices)?)?),
        }
    }

    /// Adds to each row of `out` `[T, n]` the product of the same row of `rows` `[T, k]` with its member's matrix in
    /// `matrices` `[members with rows, k, n]`.
    pub(super) fn add_product(&self, out: &Tensor, rows: &Tensor, matrices: &Tensor) -> Result<()> {
        match &self.layout {
            Layout::Even(count) => {
                let mut grouped = self.grouped(out, *count)?;
                add_product(&self.grouped(rows, *count)?, matrices, &mut grouped)?;
            }
            Layout::Ragged(ranges) => {
                for (group, &(start, count)) in ranges.iter().enumerate() {
                    let (rows, mut part) = (rows.f_narrow(0, start, count)?, out.f_narrow(0, start, count)?);
                    add_product(&rows, &matrices.f_get(group as i64)?, &mut part)?;
                }
            }
        }
        Ok(())
    }

    /// Adds to each member's entry of `sums` `[stack, m, n]` (fp32) the product of its transposed rows of `left` `[T,
    /// m]` with its rows of `right` `[T, n]`.
    pub(super) fn add_transposed_product(&self, sums: &Tensor, left: &Tensor, right: &Tensor) -> Result<()> {
        let direct = left.kind() == Kind::Float;
        match &self.layout {
            Layout::Even(count) => {
                let left = self.grouped(left, *count)?.f_transpose(1, 2)?;
                let right = self.grouped(right, *count)?;
                if let Selection::Indices(indices) = &self.selection {
                    let products = product_in_fp32(&left, &right)?;
                    let _ = sums.shallow_clone().f_index_add_(0, indices, &products)?;
                } else if direct {
                    add_product(&left, &right, &mut self.select(sums)?)?;
                } else {
                    let _ = self.select(sums)?.f_add_(&product_in_fp32(&left, &right)?)?;
                }
            }
            Layout::Ragged(ranges) => {
                for (&member, &(start, count)) in self.members.iter().zip(ranges) {
                    let mut sum = sums.f_get(member)?;
                    let left = left.f_narrow(0, start, count)?.f_transpose(0, 1)?;
                    let right = right.f_narrow(0, start, count)?;
                    if direct {
                        add_product(&left, &right, &mut sum)?;
                    } else {
                        let _ = sum.f_add_(&product_in_fp32(&left, &right)?)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn grouped(&self, rows: &Tensor, count: i64) -> Result<Tensor> {
        Ok(rows.f_view([self.members.len() as i64, count, rows.size()[1]])?)
    }
}

/// One sequence: the given tokens, the learned tokens and their advantage.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingSequence {
    /// Names the sequence in errors.
    pub id: String,
    /// Prompt ids, excluded from the loss; at least one. Neighbouring sequences with equal prompts share its
    /// computation.
    pub prompt: Vec<i64>,
    /// Completion ids, included in the loss; at least one.
    pub completion: Vec<i64>,
    /// The sampler's log-probability of each id of the completion. May be empty if the loss does not need them.
    pub logprobs: Vec<f32>,
    /// The advantage of each token of the completion; unused by the cross-entropy.
    pub advantage: f32,
}

impl TrainingSequence {
    /// Tokens that pass through the layers if nothing is shared: all but the last, which predicts nothing.
    pub(super) fn inputs(&self) -> usize {
        self.prompt.len() + self.completion.len() - 1
    }

    /// Refuses an invalid sequence; `needs_logprobs` if the loss needs the sampler's log-probabilities.
    pub(super) fn check(&self, model: &Model, member: usize, needs_logprobs: bool) -> Result<()> {
        let refuse = |reason: String| Err(EngineError::request(&self.id, format!("{reason} (member {member})")));
        let (vocabulary, longest) = (model.config.vocab_size, model.config.max_position_embeddings);
        if self.prompt.is_empty() || self.completion.is_empty() {
            return refuse(format!(
                "{} prompt ids and {} ids to learn; at least one of each is needed",
                self.prompt.len(),
                self.completion.len()
            ));
        }
        if self.inputs() as i64 > longest {
            return refuse(format!("{} tokens; the model's longest sequence is {longest}", self.inputs() + 1));
        }
        let mut ids = self.prompt.iter().chain(&self.completion);
        if let Some(id) = ids.find(|&&id| id < 0 || id >= vocabulary) {
            return refuse(format!("id {id} is outside the vocabulary of {vocabulary}"));
        }
        if self.logprobs.len() != self.completion.len() && (needs_logprobs || !self.logprobs.is_empty()) {
            return refuse(format!(
                "{} log-probabilities for {} ids; one per id is needed",
                self.logprobs.len(),
                self.completion.len()
            ));
        }
        if let Some(at) = self.logprobs.iter().position(|logprob| !logprob.is_finite()) {
            return refuse(format!("log-probability {at} is {}; it must be finite", self.logprobs[at]));
        }
        if !self.advantage.is_finite() {
            return refuse(format!("the advantage is {}; it must be finite", self.advantage));
        }
        Ok(())
    }
}
