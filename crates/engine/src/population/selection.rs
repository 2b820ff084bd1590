//! Selection of entries of a stack.

use tch::{Device, Tensor};

use crate::error::Result;

/// The entries of a stack that take part in a batch; consecutive ones are a view.
#[derive(Debug)]
pub(crate) enum Selection {
    /// All, in order.
    All,
    /// A consecutive range.
    Range { first: i64, count: i64 },
    /// Any entries, as an index tensor.
    Indices(Tensor),
}

impl Selection {
    /// `members` are the stack indices, ascending; `height` is the number of entries in the stack.
    pub(crate) fn new(members: &[i64], height: usize, device: Device) -> Result<Self> {
        let (first, count) = (members.first().copied().unwrap_or(0), members.len() as i64);
        Ok(if members.len() == height {
            Self::All
        } else if members.iter().copied().eq(first..first + count) {
            Self::Range { first, count }
        } else {
            Self::Indices(Tensor::f_from_slice(members)?.f_to_device(device)?)
        })
    }

    /// The selected entries of `stacked`.
    pub(crate) fn of(&self, stacked: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::All => stacked.shallow_clone(),
            Self::Range { first, count } => stacked.f_narrow(0, *first, *count)?,
            Self::Indices(indices) => stacked.f_index_select(0, indices)?,
        })
    }
}
