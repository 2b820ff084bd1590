//! Grouping of a batch's rows by member.

use tch::{Device, Tensor};

use super::low_rank::Selection;
use crate::error::{EngineError, Result};

/// Rows that a batch may have before its products take longer than reading the base's weights does: until then, idle rows
/// on a GPU cost next to nothing.
const FREE_ROWS: usize = 256;

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
    idle: Option<IdleRows>,
}

/// Where the sequences are in a batch whose shorter groups are filled up with idle rows.
#[derive(Debug)]
pub(crate) struct IdleRows {
    batch: usize,
    /// The row of each sequence.
    places: Vec<i64>,
    /// The same on the device.
    rows: Tensor,
    /// The sequence at each row; any one at an idle row.
    sequences: Tensor,
}

impl IdleRows {
    /// Rows of the batch.
    pub(crate) fn batch(&self) -> usize {
        self.batch
    }

    /// The row of each sequence.
    pub(crate) fn places(&self) -> &[i64] {
        &self.places
    }

    /// From one row for each row of the batch to one for each sequence.
    pub(crate) fn without(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.f_index_select(0, &self.rows)?)
    }

    /// The reverse; an idle row gets what another one has.
    pub(crate) fn with(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.f_index_select(0, &self.sequences)?)
    }
}

#[derive(Debug)]
enum Layout {
    /// Row `g · rows + i` of the batch is row i of group g. On a GPU, rows without an adapter may come behind them.
    Uniform { others: bool },
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
            return Err(EngineError::population(format!("adapter {last} does not exist; there are {population}")));
        }
        let indices: Vec<i64> = present.iter().map(|&member| member as i64).collect();
        let selection = Selection::new(&indices, population, device)?;
        let sequences_of = |member: usize| (0..members.len()).filter(move |&i| members[i] == Some(member));
        let by_group: Vec<Vec<usize>> = present.iter().map(|&member| sequences_of(member).collect()).collect();
        let largest = by_group.iter().map(Vec::len).max().unwrap_or(0);
        let adapted = present.len() * largest;
        let in_order = by_group.iter().flatten().copied().eq(0..adapted);
        let others = members.len() > adapted;
        let layout = if in_order && (!others || device.is_cuda()) {
            Layout::Uniform { others }
        } else {
            padded(&by_group, largest, members.len(), length, device)?
        };
        Ok(Some(Self { selection, groups: present.len() as i64, rows: largest as i64 * length, layout, idle: None }))
    }

    /// Groups for sequences of one token, ordered by member and those without an adapter last. On a GPU idle rows fill up the
    /// shorter groups, so that a layer needs no padded copies, unless they would slow down the base's products.
    pub fn filled(members: &[Option<usize>], population: usize, device: Device) -> Result<Option<Self>> {
        let Some((filled, places)) = fill_up(members).filter(|_| device.is_cuda()) else {
            return Self::new(members, 1, population, device);
        };
        let Some(groups) = Self::new(&filled, 1, population, device)? else { return Ok(None) };
        let mut sequences = vec![0; filled.len()];
        for (sequence, &row) in places.iter().enumerate() {
            sequences[row as usize] = sequence as i64;
        }
        let idle = IdleRows {
            rows: Tensor::f_from_slice(&places)?.f_to_device(device)?,
            sequences: Tensor::f_from_slice(&sequences)?.f_to_device(device)?,
            batch: filled.len(),
            places,
        };
        Ok(Some(Self { idle: Some(idle), ..groups }))
    }

    /// The idle rows, if there are any.
    pub(crate) fn idle(&self) -> Option<&IdleRows> {
        self.idle.as_ref()
    }

    /// The stacked tensor's entries for the members that have rows, in group order.
    pub(super) fn select(&self, stacked: &Tensor) -> Result<Tensor> {
        self.selection.of(stacked)
    }

    /// `[T, width]` to `[groups, rows, width]`.
    pub(super) fn group(&self, rows: &Tensor) -> Result<Tensor> {
        let shape = [self.groups, self.rows, -1];
        Ok(match &self.layout {
            Layout::Uniform { others: false } => rows.f_view(shape)?,
            Layout::Uniform { others: true } => rows.f_narrow(0, 0, self.groups * self.rows)?.f_view(shape)?,
            Layout::Padded { gather, .. } => rows.f_index_select(0, gather)?.f_view(shape)?,
        })
    }

    /// Whether [`RowGroups::group`] is a view of the batch, so that results can be added in place.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self.layout, Layout::Uniform { .. })
    }

    /// `[groups, rows, width]` to `[T, width]`; rows without an adapter become zero.
    pub(super) fn ungroup(&self, grouped: &Tensor) -> Result<Tensor> {
        let width = grouped.size()[2];
        let flat = grouped.f_reshape([-1, width])?;
        Ok(match &self.layout {
            Layout::Uniform { .. } => flat,
            Layout::Padded { scatter, .. } => {
                let zero = Tensor::f_zeros([1, width], (flat.kind(), flat.device()))?;
                Tensor::f_cat(&[flat, zero], 0)?.f_index_select(0, scatter)?
            }
        })
    }
}

/// `members` with idle rows that make all groups as long as the longest, and the row of each sequence. `None` if none are
/// needed, or too many.
fn fill_up(members: &[Option<usize>]) -> Option<(Vec<Option<usize>>, Vec<i64>)> {
    let groups = || members.chunk_by(|one, other| one == other);
    let adapted = groups().filter(|group| group[0].is_some());
    let longest = adapted.map(<[_]>::len).max().unwrap_or(0);
    let (mut filled, mut places) = (Vec::new(), Vec::with_capacity(members.len()));
    for group in groups() {
        places.extend((filled.len() as i64..).take(group.len()));
        let rows = if group[0].is_some() { longest } else { group.len() };
        filled.extend(std::iter::repeat_n(group[0], rows));
    }
    let most = FREE_ROWS.max(members.len() + members.len() / 4);
    (members.len() < filled.len() && filled.len() <= most).then_some((filled, places))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FREE_ROWS, fill_up};

    proptest! {
        #[test]
        fn filled_groups_are_equal_and_every_sequence_has_a_row_of_its_member(
            rows in prop::collection::vec(1usize..20, 1..8),
            base in 0usize..20,
        ) {
            let members: Vec<_> = (0..).zip(&rows).flat_map(|(member, &rows)| vec![Some(member); rows]).collect();
            let members = [members, vec![None; base]].concat();
            let Some((filled, places)) = fill_up(&members) else {
                prop_assert!(rows.iter().all(|&of_group| of_group == rows[0]));
                return Ok(());
            };
            let groups: Vec<_> = filled.chunk_by(|one, other| one == other).collect();
            prop_assert_eq!(groups.len(), rows.len() + usize::from(base > 0));
            prop_assert!(groups[..rows.len()].iter().all(|group| group.len() == groups[0].len()));
            prop_assert!(places.is_sorted_by(|one, other| one < other));
            let found: Vec<_> = places.iter().map(|&row| filled[row as usize]).collect();
            prop_assert_eq!(found, members);
        }
    }

    #[test]
    fn more_idle_rows_than_are_free_are_not_added() {
        let members = |first, second| [vec![Some(0); first], vec![Some(1); second]].concat();
        assert!(fill_up(&members(FREE_ROWS / 2, 1)).is_some());
        assert!(fill_up(&members(FREE_ROWS / 2 + 1, 1)).is_none());
        assert!(fill_up(&members(400, 250)).is_some(), "fewer than a quarter more");
        assert!(fill_up(&members(400, 200)).is_none());
    }
}
