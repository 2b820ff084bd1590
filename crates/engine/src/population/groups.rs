//! Grouping of a batch's rows by member.

use tch::{Device, Tensor};

use super::selection::Selection;
use crate::error::{EngineError, Result};

/// The rows (tokens) of a flattened batch `[T, width]` by member. If the members have equal numbers of consecutive
/// rows, they are computed on a view; otherwise on a padded copy, of the adapters' input only.
#[derive(Debug)]
pub struct RowGroups {
    /// The members that have rows.
    selection: Selection,
    /// Number of members that have rows.
    groups: i64,
    /// Rows of each group, padding included.
    rows: i64,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// Row `g · rows + i` of the batch is row i of group g, and there are no other rows.
    Uniform,
    /// `gather[g · rows + i]` is the batch row at row i of group g (any row for padding); `scatter[t]` is the position
    /// of batch row t among the groups, or one past the last for rows without an adapter.
    Padded { gather: Tensor, scatter: Tensor },
}

impl RowGroups {
    /// Groups for sequences of `length` tokens each; `members[i]` is the stack index of sequence i's adapter, or `None`
    /// for the base without adapters. `population` is the number of members in the stack. `None` if no sequence has an
    /// adapter.
    pub fn new(members: &[Option<usize>], length: i64, population: usize, device: Device) -> Result<Option<Self>> {
        let mut present: Vec<usize> = members.iter().copied().flatten().collect();
        present.sort_unstable();
        present.dedup();
        let Some(&last) = present.last() else { return Ok(None) };
        if last >= population {
            return Err(EngineError::population(format!(
                "adapter {last} does not exist; there are {population}"
            )));
        }
        let indices: Vec<i64> = present.iter().map(|&member| member as i64).collect();
        let selection = Selection::new(&indices, population, device)?;
        let sequences_of = |member: usize| (0..members.len()).filter(move |&i| members[i] == Some(member));
        let by_group: Vec<Vec<usize>> = present.iter().map(|&member| sequences_of(member).collect()).collect();
        let largest = by_group.iter().map(Vec::len).max().unwrap_or(0);
        let in_order = by_group.iter().flatten().copied().eq(0..members.len());
        let uniform = in_order && by_group.iter().all(|group| group.len() == largest);
        let layout = if uniform {
            Layout::Uniform
        } else {
            padded(&by_group, largest, members.len(), length, device)?
        };
        Ok(Some(Self {
            selection,
            groups: present.len() as i64,
            rows: largest as i64 * length,
            layout,
        }))
    }

    /// The stacked tensor's entries for the members that have rows, in group order.
    pub(super) fn select(&self, stacked: &Tensor) -> Result<Tensor> {
        self.selection.of(stacked)
    }

    /// `[T, width]` to `[groups, rows, width]`.
    pub(super) fn group(&self, rows: &Tensor) -> Result<Tensor> {
        let shape = [self.groups, self.rows, -1];
        Ok(match &self.layout {
            Layout::Uniform => rows.f_view(shape)?,
            Layout::Padded { gather, .. } => rows.f_index_select(0, gather)?.f_view(shape)?,
        })
    }

    /// Whether [`RowGroups::group`] is a view of the batch, so results can be added in place.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self.layout, Layout::Uniform)
    }

    /// `[groups, rows, width]` to `[T, width]`; rows without an adapter become zero.
    pub(super) fn ungroup(&self, grouped: &Tensor) -> Result<Tensor> {
        let width = grouped.size()[2];
        let flat = grouped.f_reshape([-1, width])?;
        Ok(match &self.layout {
            Layout::Uniform => flat,
            Layout::Padded { scatter, .. } => {
                let zero = Tensor::f_zeros([1, width], (flat.kind(), flat.device()))?;
                Tensor::f_cat(&[flat, zero], 0)?.f_index_select(0, scatter)?
            }
        })
    }
}

fn padded(by_group: &[Vec<usize>], largest: usize, sequences: usize, length: i64, device: Device) -> Result<Layout> {
    let mut gather = Vec::with_capacity(by_group.len() * largest * length as usize);
    let mut scatter = vec![(by_group.len() * largest) as i64 * length; sequences * length as usize];
    for group in by_group {
        for slot in 0..largest {
            let sequence = group.get(slot).copied();
            for token in 0..length {
                let row = sequence.map(|sequence| sequence as i64 * length + token);
                if let Some(row) = row {
                    scatter[row as usize] = gather.len() as i64;
                }
                gather.push(row.unwrap_or(0));
            }
        }
    }
    Ok(Layout::Padded {
        gather: Tensor::f_from_slice(&gather)?.f_to_device(device)?,
        scatter: Tensor::f_from_slice(&scatter)?.f_to_device(device)?,
    })
}
